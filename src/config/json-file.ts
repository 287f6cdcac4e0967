import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

import { jsonErrorPlace, type JsonPlace, repeatedKeyPlace } from '../kit/json/json-place.ts';

const MAX_FILE_BYTES = 1024 * 1024;

/** `problem` completes a sentence that begins with the path. It never quotes the content, which may be a secret. */
export type JsonFile = { readonly value: unknown } | { readonly problem: string };

export const readJsonFile = (file: string): JsonFile => {
  const read = readText(file);
  if (typeof read !== 'string') return read;
  // Some editors begin a file with a byte order mark.
  const text = read.replace(/^\uFEFF/, '');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: `is not valid JSON: see ${shown(jsonErrorPlace(text))}.` };
  }
  const repeated = repeatedKeyPlace(text);
  return repeated === null ? { value } : { problem: `has a key twice: see ${shown(repeated)}.` };
};

const shown = ({ line, column }: JsonPlace): string => `line ${line}, column ${column}`;

const readText = (file: string): string | { readonly problem: string } => {
  let opened: number | null = null;
  try {
    // A named pipe would block until another process writes to it. Windows has no such flag.
    opened = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const found = fstatSync(opened);
    if (found.isDirectory()) return { problem: 'is a folder, not a file.' };
    if (!found.isFile()) return { problem: 'is not a regular file.' };
    if (found.size > MAX_FILE_BYTES) return { problem: 'is larger than 1 MB.' };
    return readFileSync(opened, 'utf8');
  } catch (error) {
    return { problem: `cannot be read: ${(error as NodeJS.ErrnoException).code ?? String(error)}.` };
  } finally {
    if (opened !== null) closeSync(opened);
  }
};
