import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

import { createLineDecoder } from '../../kit/text/line-decoder.ts';
import { type AppServer, type AppServerSettings, connectAppServer } from '../app-server.ts';
import { createStdioTransport } from '../rpc/stdio-transport.ts';
import { measureVitals, type Vitals } from './vitals.ts';
import { within } from '../../kit/async/wait.ts';

/** One initialized app-server process. */
export interface Worker {
  readonly pid: number;
  readonly appServer: AppServer;
  /** Aborted when the process or its connection has ended. */
  readonly lost: AbortSignal;
  readonly pulse: Pulse;
  vitals(): Promise<Vitals>;
  /** Ends the process, by force if necessary. Resolves after it has exited and was cleaned up. */
  stop(): Promise<void>;
  /** Kills the process at once, even if it hangs. `lost` is aborted when this returns. */
  kill(): Promise<void>;
}

/** Signs that a worker is alive and useful. */
export interface Pulse {
  /** Number of output chunks received. */
  received(): number;
  /** Number of calls of turns that timed out. */
  unanswered(): number;
  /** A cheap request; any answer counts. */
  ask(timeoutMs: number): Promise<unknown>;
  hasHome(): Promise<boolean>;
}

interface WorkerOptions extends AppServerSettings {
  readonly binaryPath: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Its home, which is also its working directory. */
  readonly cwd: string;
  /** False if its home or its configuration is gone. */
  readonly hasHome: () => Promise<boolean>;
  /** A line of the child's stderr. It may contain a user's text. */
  readonly onStderr: (line: string) => void;
  /** Called once after the process has exited, even if it never became ready. */
  readonly cleanUp: () => Promise<void>;
  /** How long the process may take to exit by itself, and then again after SIGTERM. */
  readonly stopGraceMs?: number;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

const STOP_GRACE_MS = 2_000;
const STDERR_LINES_KEPT = 10;

export type StartWorker = (options: WorkerOptions) => Promise<Worker>;

export const startWorker: StartWorker = async (options) => {
  const stderr: string[] = [];
  const didNotStart = (cause: unknown): Error => {
    const said = stderr.length === 0 ? '' : `; stderr: ${stderr.join(' | ')}`;
    return new Error(`codex app-server did not start${said}`, { cause });
  };
  const child = await spawnChild(options, (line) => {
    if (stderr.push(line) > STDERR_LINES_KEPT) stderr.shift();
    options.onStderr(line);
  }).catch(async (cause: unknown) => {
    await cleanUpAfter(options);
    throw didNotStart(cause);
  });
  const lost = new AbortController();
  const stopping = createStop(child, options);
  let received = 0;
  let unanswered = 0;
  try {
    const transport = createStdioTransport(child);
    child.stdout.on('data', () => {
      received += 1;
    });
    const appServer = await connectAppServer(transport, {
      ...options,
      onUnanswered: () => {
        unanswered += 1;
      },
      onClose: () => {
        lost.abort(new Error('the app-server process has ended'));
        // A process that has closed its stdout is useless, even if it still runs.
        void stopping('gently');
      },
    });
    const pid = child.pid ?? 0;
    return {
      pid,
      appServer,
      lost: lost.signal,
      pulse: {
        received: () => received,
        unanswered: () => unanswered,
        ask: (timeoutMs) => appServer.request('server/diagnostics', {}, { timeoutMs }),
        hasHome: () => options.hasHome(),
      },
      vitals: () => measureVitals(appServer, pid, options.cwd),
      stop: () => {
        appServer.close();
        return stopping('gently');
      },
      kill: () => {
        const gone = stopping('by-force');
        appServer.close();
        return gone;
      },
    };
  } catch (cause) {
    await stopping('gently');
    throw didNotStart(cause);
  }
};

/** Rejects if the process cannot be spawned. */
const spawnChild = async (options: WorkerOptions, onStderr: (line: string) => void): Promise<Child> => {
  const child: ChildProcess = spawn(options.binaryPath, ['app-server'], {
    cwd: options.cwd,
    env: options.environment,
    stdio: ['pipe', 'pipe', 'pipe'],
    // Its own process group: Ctrl-C in a terminal is for us, and we let the turns finish first. If we die,
    // the child reads the end of its stdin and exits, so it is never orphaned. Its own session lets us find
    // the processes that it leaves behind.
    detached: process.platform !== 'win32',
  });
  // First: without a listener the error of a failed spawn or kill would end our own process.
  child.on('error', (error) => onStderr(error.message));
  const decoder = createLineDecoder();
  // Despite its types, Node creates no pipes if the process has run out of descriptors (EMFILE).
  child.stderr?.on('data', (chunk: Buffer) => decoder.push(chunk).forEach(onStderr));
  await once(child, 'spawn');
  return child as Child;
};

const cleanUpAfter = async ({ cleanUp, onStderr }: WorkerOptions): Promise<void> => {
  try {
    await cleanUp();
  } catch (error) {
    // A directory that cannot be removed now is removed at the next start.
    onStderr(`could not clean up: ${String(error)}`);
  }
};

/**
 * Stops the child, once for all callers: end of stdin, SIGTERM, SIGKILL, then cleanup. SIGKILL also ends a
 * stopped process; processes that it has started are ended too.
 */
const createStop = (child: Child, options: WorkerOptions) => {
  const { stopGraceMs = STOP_GRACE_MS } = options;
  const isGone = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => {
      resolve();
      // A process that the child started may hold its stdout open: do not wait for that.
      setTimeout(() => child.stdout.destroy(), 200).unref();
    });
  });
  const goneWithin = async (ms: number): Promise<boolean> => {
    if (isGone()) return true;
    await within(gone, ms);
    return isGone();
  };
  const end = async (how: 'gently' | 'by-force'): Promise<void> => {
    child.stdin.end();
    if (how === 'by-force') child.kill('SIGKILL');
    if (!(await goneWithin(stopGraceMs))) {
      child.kill('SIGTERM');
      if (!(await goneWithin(stopGraceMs))) {
        child.kill('SIGKILL');
        await goneWithin(stopGraceMs);
      }
    }
    if (child.pid !== undefined) await endSession(child.pid);
    await cleanUpAfter(options);
  };
  let ending: Promise<void> | null = null;
  return (how: 'gently' | 'by-force'): Promise<void> => (ending ??= end(how));
};

/** A server that reads the end of its stdin exits by itself. */
const GRACE_MS = 500;

/**
 * Ends the processes that a session leader left behind: the app-server ends its MCP servers, unless it is
 * killed. A session id is not reused while a process is in the session.
 */
export const endSession = async (session: number, graceMs = GRACE_MS): Promise<void> => {
  if ((await membersOf(session)).length === 0) return;
  await sleep(graceMs);
  for (const pid of await membersOf(session)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has exited meanwhile.
    }
  }
};

/** Empty if the system does not provide it. */
const membersOf = async (session: number): Promise<readonly number[]> => {
  const names = await readdir('/proc').catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  const isMember = await Promise.all(pids.map(async (pid) => (await sessionOf(pid)) === session));
  return pids.filter((_, index) => isMember[index]);
};

const sessionOf = async (pid: number): Promise<number | null> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // After the name, which may contain anything: state, parent, group, session.
  const [state, , , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return state === 'Z' ? null : Number(session);
};
