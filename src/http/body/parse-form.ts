import { MIMEType } from 'node:util';

import type { FormEntry } from '../../openai/images/form.ts';

export interface FormJob {
  readonly bytes: Uint8Array;
  /** Names the boundary. */
  readonly contentType: string;
}

export type ParsedForm =
  | { readonly kind: 'parsed'; readonly entries: readonly FormEntry[] }
  | { readonly kind: 'unreadable' }
  | { readonly kind: 'too-many-parts' };

/** More than any form that is read here has. */
export const MAX_FORM_PARTS = 100;

/**
 * The parser is Node's own. It reads any number of parts, and headers of any length, in one go: so parts are counted
 * before it begins, and it is for a thread.
 */
export const parseForm = async ({ bytes, contentType }: FormJob): Promise<ParsedForm> => {
  if (hasTooManyParts(bytes, contentType)) return { kind: 'too-many-parts' };
  const form = await formOf(bytes, contentType);
  if (form === null) return { kind: 'unreadable' };
  const entries: FormEntry[] = [];
  for (const [name, value] of form) {
    entries.push(
      typeof value === 'string'
        ? { name, value, isFile: false }
        : { name, value: await dataUrlOf(value), isFile: true },
    );
  }
  return { kind: 'parsed', entries };
};

/** The parser ends a part at every delimiter, wherever it stands, and the last delimiter ends the form. */
const hasTooManyParts = (bytes: Uint8Array, contentType: string): boolean => {
  const boundary = boundaryIn(contentType);
  if (boundary === null) return false;
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const delimiter = Buffer.from(`--${boundary}`);
  let delimiters = 0;
  for (let at = body.indexOf(delimiter); at !== -1; at = body.indexOf(delimiter, at + delimiter.length)) {
    delimiters += 1;
    if (delimiters > MAX_FORM_PARTS + 1) return true;
  }
  return false;
};

/** Null: there is none, and the parser will say so. */
const boundaryIn = (contentType: string): string | null => {
  try {
    return new MIMEType(contentType).params.get('boundary');
  } catch {
    return null;
  }
};

const formOf = async (bytes: Uint8Array, contentType: string): Promise<FormData | null> => {
  try {
    return await new Response(bytes as Uint8Array<ArrayBuffer>, {
      headers: { 'content-type': contentType },
    }).formData();
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
};

/** Clients guess the type by the name of the file, or do not say it. What the bytes are is found out with all other images. */
const dataUrlOf = async (file: Blob): Promise<string> =>
  `data:image/png;base64,${Buffer.from(await file.arrayBuffer()).toString('base64')}`;
