import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** A file in the forms in which it can be sent. */
export interface ConsoleFile {
  readonly type: string;
  readonly plain: Uint8Array<ArrayBuffer>;
  readonly br: Uint8Array<ArrayBuffer> | null;
  readonly gzip: Uint8Array<ArrayBuffer> | null;
}

/** The files by their names below `/console`: `index.html`, `assets/index-1a2b.js`. */
export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>;

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const MAX_FILES = 500;

/**
 * Reads the built console once, when it is asked for the first time. Null: it is not built, which is checked again each
 * time.
 */
export const createConsoleFiles = (
  folder = new URL('../../../console/dist/', import.meta.url),
): (() => Promise<ConsoleFiles | null>) => {
  const root = fileURLToPath(folder);
  let files: Promise<ConsoleFiles | null> | null = null;
  return async () => {
    files ??= readFiles(root);
    const found = await files;
    if (found === null) files = null;
    return found;
  };
};

const readFiles = async (root: string): Promise<ConsoleFiles | null> => {
  try {
    const entries = await readdir(root, { recursive: true, withFileTypes: true });
    const names = entries
      .filter((entry) => entry.isFile())
      .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
      .slice(0, MAX_FILES);
    const known = new Set(names);
    const bytes = (name: string): Promise<Uint8Array<ArrayBuffer>> => readFile(path.join(root, name));
    const optional = async (name: string): Promise<Uint8Array<ArrayBuffer> | null> =>
      known.has(name) ? bytes(name) : null;
    const served = names.flatMap((name) => {
      const type = TYPES[path.extname(name)];
      return type === undefined ? [] : [{ name, type }];
    });
    const read = served.map(async ({ name, type }): Promise<[string, ConsoleFile]> => [
      name,
      {
        type,
        plain: await bytes(name),
        br: await optional(`${name}.br`),
        gzip: await optional(`${name}.gz`),
      },
    ]);
    const files = new Map(await Promise.all(read));
    return files.has('index.html') ? files : null;
  } catch {
    // Not built, or being built.
    return null;
  }
};
