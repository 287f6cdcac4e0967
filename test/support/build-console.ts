import { execFile } from 'node:child_process';
import { glob, stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const ROOT = path.join(import.meta.dirname, '../..');

const newest = async (pattern: string): Promise<number> => {
  let time = 0;
  for await (const file of glob(pattern, { cwd: ROOT }))
    time = Math.max(time, (await stat(path.join(ROOT, file))).mtimeMs);
  return time;
};

/** Runs once before the tests that start the product: builds the console if its sources are newer. */
export default async (): Promise<void> => {
  const built = await newest('console/dist/index.html');
  const changed = await newest('console/{index.html,vite.config.ts,src/**/*.*}');
  if (built > changed) return;
  const env = { ...process.env, NODE_ENV: 'production' };
  await promisify(execFile)(process.execPath, ['scripts/build-console.ts'], { cwd: ROOT, env });
};
