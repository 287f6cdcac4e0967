/** Builds the console into `console/dist`: `npm run console:build`. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';

const brotli = promisify(brotliCompress);
const gzipped = promisify(gzip);

const ROOT = path.join(import.meta.dirname, '..');

const DIST = path.join(ROOT, 'console/dist');

/** Also writes each file compressed, so that the server never compresses. Prints nothing on standard output, which belongs to the JSON of `npm pack`. */
export const buildConsole = async (): Promise<void> => {
  const { build } = await import('vite');
  await build({ configFile: path.join(ROOT, 'console/vite.config.ts'), logLevel: 'warn' });
  const names = await readdir(DIST, { recursive: true });
  await Promise.all(names.filter((name) => /\.(?:html|js|css|svg)$/.test(name)).map(compress));
};

const compress = async (name: string): Promise<void> => {
  const file = path.join(DIST, name);
  const bytes = await readFile(file);
  await writeFile(`${file}.br`, await brotli(bytes));
  await writeFile(`${file}.gz`, await gzipped(bytes, { level: 9 }));
};

/**
 * npm's `prepare`: runs after an installation from a clone and before the package is packed. An installation without
 * development packages has no vite: then the server runs without the console.
 */
export const prepareConsole = async (): Promise<void> => {
  const hasVite = await import('vite').then(
    () => true,
    () => false,
  );
  if (hasVite) await buildConsole();
  else console.error('The console is not built: vite, a development package, is not installed.');
};

if (import.meta.main) await buildConsole();
