import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';

import { findCodexBinary } from '../../src/codex/binary.ts';
import { startWorker, type StartWorker } from '../../src/codex/worker/worker.ts';

/**
 * What every app-server and every server do alike in an empty folder: codex creates its databases, which is half of
 * the work of its start, and this server asks it for its models. Done once for each version of codex; the tests of
 * commands, of homes and of processes start with nothing.
 */
const CACHE = path.resolve(import.meta.dirname, '../../node_modules/.cache/codex-homes');

const run = promisify(execFile);
const isDatabase = (name: string): boolean => name.endsWith('.sqlite');

/** Nothing of it says where it was made. */
const make = async (folder: string): Promise<void> => {
  const { path: program } = findCodexBinary();
  const home = path.join(folder, 'home');
  await mkdir(home);
  await writeFile(
    path.join(home, 'config.toml'),
    'check_for_update_on_startup = false\n[features]\nplugins = false\n',
  );
  const env = { PATH: process.env['PATH'], HOME: home, CODEX_HOME: home };
  const models = await run(program, ['debug', 'models', '--bundled'], { env, maxBuffer: 64 * 1024 * 1024 });
  await writeFile(path.join(folder, 'models.json'), models.stdout);
  // It ends with its input.
  const starting = run(program, ['app-server'], { env });
  starting.child.stdin?.end();
  await starting;
  for (const name of (await readdir(home)).filter(isDatabase)) {
    const database = new DatabaseSync(path.join(home, name));
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    database.close();
    await copyFile(path.join(home, name), path.join(folder, name));
  }
  await rm(home, { recursive: true });
};

const made = async (): Promise<string> => {
  const folder = path.join(CACHE, findCodexBinary().version);
  if (existsSync(folder)) return folder;
  await mkdir(CACHE, { recursive: true });
  const half = await mkdtemp(`${folder}-`);
  await make(half);
  // Another process may have been faster.
  await rename(half, folder).catch(() => rm(half, { recursive: true }));
  return folder;
};

let folder: Promise<string> | null = null;
const warmFolder = (): Promise<string> => (folder ??= made());

/** The state directory of a server that has started before. */
export const keepModels = async (stateDir: string): Promise<void> => {
  const lasting = path.join(stateDir, 'codex');
  await mkdir(lasting, { recursive: true, mode: 0o700 });
  const name = `models-${findCodexBinary().version}.json`;
  await copyFile(path.join(await warmFolder(), 'models.json'), path.join(lasting, name));
};

/** The same for the home of an app-server. On a full disk it starts without them, and says what is wrong. */
export const startWarm: StartWorker = async (options) => {
  const from = await warmFolder();
  for (const name of (await readdir(from)).filter(isDatabase)) {
    const copy = path.join(options.cwd, name);
    await copyFile(path.join(from, name), copy).catch(() => rm(copy, { force: true }));
  }
  return startWorker(options);
};
