import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { rolldown, type Plugin } from 'rolldown';

import { bundleThreads } from './bundle-threads.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const BIN = path.join(ROOT, 'bin/codex-app-server-proxy.js');
const CACHE = path.join(ROOT, 'node_modules/.cache/command');
const KEPT_FOR_MS = 60 * 60_000;
/** They start threads or load files of their own, or are not installed. */
const NOT_BUNDLED = [/^@openai\/codex/, /^gpt-tokenizer/, /^pino/, 'pg-native'];

/** Each module still has the URL of its source, so that it finds the same files and says the same about itself. */
const sourceUrls = (): Plugin => ({
  name: 'source-urls',
  transform: {
    filter: { id: /\/src\/.*\.ts$/, code: /import\.meta\.url/ },
    handler: (code, id) => code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)),
  },
});

const versionOfSources = (): string => {
  const hash = createHash('sha256');
  for (const name of ['package-lock.json', ...globSync('src/**/*.ts', { cwd: ROOT }).toSorted()])
    hash.update(name).update(readFileSync(path.join(ROOT, name)));
  return hash.digest('hex').slice(0, 16);
};

const build = async (folder: string): Promise<void> => {
  const bundle = await rolldown({
    input: path.join(ROOT, 'src/main.ts'),
    platform: 'node',
    logLevel: 'silent',
    external: NOT_BUNDLED,
    plugins: [bundleThreads() as Plugin, sourceUrls()],
  });
  await bundle.write({
    dir: folder,
    format: 'esm',
    entryFileNames: 'main.mjs',
    chunkFileNames: '[name]-[hash].mjs',
  });
  await bundle.close();
  const start = `process.argv[1] = ${JSON.stringify(BIN)};\nawait import('./main.mjs');\n`;
  writeFileSync(path.join(folder, 'command.mjs'), start);
};

/** Other runs may still use the newer ones. */
const forgetOld = (): void => {
  for (const name of readdirSync(CACHE)) {
    const old = path.join(CACHE, name);
    if (Date.now() - statSync(old).mtimeMs > KEPT_FOR_MS) rmSync(old, { recursive: true, force: true });
  }
};

/**
 * The command in a bundle of its sources: a server of it starts with half of the work. Returns the file to run. Other
 * processes may make the same bundle now, and earlier ones may have made it.
 */
export const bundledCommand = async (): Promise<string> => {
  const folder = path.join(CACHE, versionOfSources());
  if (!existsSync(folder)) {
    mkdirSync(CACHE, { recursive: true });
    forgetOld();
    const half = `${folder}.${process.pid}`;
    await build(half);
    try {
      renameSync(half, folder);
    } catch (error) {
      rmSync(half, { recursive: true });
      if (!existsSync(folder)) throw error;
    }
  }
  return path.join(folder, 'command.mjs');
};
