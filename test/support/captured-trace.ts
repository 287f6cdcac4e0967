import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';

/** The capture file of one request, once it is complete. */
export const capturedTrace = async (directory: string, requestId: string): Promise<string> => {
  let file = '';
  await expect
    .poll(async () => {
      const name = (await readdir(directory)).find((one) => one.includes(requestId));
      file = name === undefined ? '' : path.join(directory, name);
      return name === undefined ? '' : await readFile(file, 'utf8');
    })
    .toMatch(/"kind":"end"[^\n]*\n$/);
  return file;
};
