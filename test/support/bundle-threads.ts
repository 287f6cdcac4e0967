import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { rolldown } from 'rolldown';
import type { Plugin } from 'vitest/config';

const CACHE = path.resolve(import.meta.dirname, '../../node_modules/.cache/threads');
/** Not the tokenizer: bundling its tables takes longer than loading them. */
const BESIDE_MODULE = /besideModule\(import\.meta\.url, '((?!tokenizer)[a-z-]+)'\)/;

/** Another project may have a thread that reads the same file now. Its name has a hash of its content. */
const writeOnce = (file: string, text: string): void => {
  if (existsSync(file)) return;
  mkdirSync(CACHE, { recursive: true });
  const half = `${file}.${process.pid}`;
  writeFileSync(half, text);
  renameSync(half, file);
};

/**
 * Lets threads run from bundles: a thread with the database loads 300 modules, which takes most of the time of starting a
 * proxy. The tests of the command run the sources.
 */
export const bundleThreads = (): Plugin => ({
  name: 'bundle-threads',
  // Sees the sources as they are written.
  enforce: 'pre',
  configureVitest({ defineCacheKeyGenerator }) {
    // The cache of modules would not notice that a module of a thread has changed.
    defineCacheKeyGenerator(({ sourceCode }) => (BESIDE_MODULE.test(sourceCode) ? false : null));
  },
  transform: {
    filter: { id: /\/src\/.*\.ts$/, code: BESIDE_MODULE },
    async handler(code, id) {
      const name = BESIDE_MODULE.exec(code)?.[1] ?? '';
      const bundle = await rolldown({
        input: path.join(path.dirname(id), `${name}.ts`),
        platform: 'node',
        logLevel: 'silent',
      });
      const { output } = await bundle.generate({
        format: 'esm',
        entryFileNames: '[name]-[hash].mjs',
        chunkFileNames: '[name]-[hash].mjs',
      });
      for (const file of await bundle.watchFiles) this.addWatchFile(file);
      await bundle.close();
      for (const one of output) if (one.type === 'chunk') writeOnce(path.join(CACHE, one.fileName), one.code);
      const file = path.join(CACHE, output[0].fileName);
      return { code: code.replace(BESIDE_MODULE, `new URL(${JSON.stringify(`file://${file}`)})`), map: null };
    },
  },
});
