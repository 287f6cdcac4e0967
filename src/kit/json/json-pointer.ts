import { isJsonObject, type Json } from './json.ts';

/** Resolves a URI fragment within a document (`#/$defs/a`, RFC 6901); undefined if not found. */
export const resolvePointer = (root: Json, pointer: string): Json | undefined => {
  if (!pointer.startsWith('#')) return undefined;
  let found: Json | undefined = root;
  for (const step of pointer.slice(1).split('/').slice(1)) {
    const key = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(found)) found = (found as readonly Json[])[Number(key)];
    else found = isJsonObject(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  }
  return found;
};

const decoded = (step: string): string => {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
};
