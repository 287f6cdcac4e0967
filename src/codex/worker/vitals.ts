import { lstat, readdir, readFile, statfs } from 'node:fs/promises';
import path from 'node:path';

import type { AppServer } from '../app-server.ts';

/** How a worker does. What this system does not tell is 0, or null where 0 would mean something. */
export interface Vitals {
  readonly residentBytes: number;
  /** Threads that it holds, whether or not a turn runs on them. */
  readonly threads: number;
  /** What is in its home, most of it the log database. */
  readonly homeBytes: number;
  /** What is left on the disk of its home. */
  readonly freeBytes: number | null;
  /** Processor time since its start. */
  readonly cpuMs: number | null;
}

const DIAGNOSTICS_TIMEOUT_MS = 5_000;

/** Asks the process itself, and looks at what it leaves on disk. */
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

/** A home has some twenty files; in one with many more a look at each would not be cheap. */
const MAX_FILES = 200;

/** The files right in it: codex keeps its databases there. */
const directoryBytes = async (directory: string): Promise<number> => {
  const names = await readdir(directory).catch(() => []);
  const sizes = names.slice(0, MAX_FILES).map(async (name) => {
    try {
      return (await lstat(path.join(directory, name))).size;
    } catch {
      // A database's side file comes and goes.
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

/** The kernel tells it in hundredths of a second, whatever its own clock does. */
const TICK_MS = 10;

/** Null where there is no /proc, and for a process that is gone. */
const cpuMsOf = async (pid: number): Promise<number | null> => {
  try {
    return cpuMsIn(await readFile(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return null;
  }
};

/** User and system time are the 14th and 15th field; the second, a name in brackets, may hold spaces. */
export const cpuMsIn = (stat: string): number | null => {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[11]) + Number(fields[12]);
  return Number.isSafeInteger(ticks) ? ticks * TICK_MS : null;
};
