import { lstat, readdir, readFile, statfs } from 'node:fs/promises';
import path from 'node:path';

import type { AppServer } from '../app-server.ts';

/**
 * The state of a worker. Values that this system does not provide are 0, or null if 0 would have a meaning.
 */
export interface Vitals {
  readonly residentBytes: number;
  /** Its threads, with or without a running turn. */
  readonly threads: number;
  /** Size of its home, mostly databases. */
  readonly homeBytes: number;
  /** Free space on the disk of its home. */
  readonly freeBytes: number | null;
  /** Processor time since its start. */
  readonly cpuMs: number | null;
}

const DIAGNOSTICS_TIMEOUT_MS = 5_000;

/** Queries the process itself and measures its files. */
export const measureVitals = async (appServer: AppServer, pid: number, home: string): Promise<Vitals> => {
  const [{ process: usage, gauges }, homeBytes, freeBytes, cpuMs] = await Promise.all([
    appServer.request('server/diagnostics', {}, { timeoutMs: DIAGNOSTICS_TIMEOUT_MS }),
    directoryBytes(home),
    freeBytesOf(home),
    cpuMsOf(pid),
  ]);
  return {
    residentBytes: usage.residentMemoryBytes ?? 0,
    threads: gauges.find((gauge) => gauge.name === 'core.threads.live')?.value ?? 0,
    homeBytes,
    freeBytes,
    cpuMs,
  };
};

/** A home has some twenty files; checking each of many more would be expensive. */
const MAX_FILES = 200;

/** Size of the files directly in it, where codex keeps its databases. */
const directoryBytes = async (directory: string): Promise<number> => {
  const names = await readdir(directory).catch(() => []);
  const sizes = names.slice(0, MAX_FILES).map(async (name) => {
    try {
      return (await lstat(path.join(directory, name))).size;
    } catch {
      // Side files of a database come and go.
      return 0;
    }
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
};

const freeBytesOf = async (directory: string): Promise<number | null> => {
  try {
    const { bavail, bsize } = await statfs(directory);
    return bavail * bsize;
  } catch {
    return null;
  }
};

/** The kernel reports it in hundredths of a second. */
const TICK_MS = 10;

/** Null without /proc, and for a process that has exited. */
const cpuMsOf = async (pid: number): Promise<number | null> => {
  try {
    return cpuMsIn(await readFile(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return null;
  }
};

/** User and system time are fields 14 and 15; field 2, a name in parentheses, may contain spaces. */
export const cpuMsIn = (stat: string): number | null => {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[11]) + Number(fields[12]);
  return Number.isSafeInteger(ticks) ? ticks * TICK_MS : null;
};
