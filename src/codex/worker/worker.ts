import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';

import { createLineDecoder } from '../../kit/text/line-decoder.ts';
import { type AppServer, type AppServerOptions, connectAppServer } from '../app-server.ts';
import { createStdioTransport } from '../rpc/stdio-transport.ts';
import { endSession } from './end-session.ts';
import { measureVitals, type Vitals } from './vitals.ts';
import { within } from '../../kit/async/within.ts';

/** One app-server process that has been initialized. */
export interface Worker {
  readonly pid: number;
  readonly appServer: AppServer;
  /** Aborted when the process or its connection has ended, for whatever reason. */
  readonly lost: AbortSignal;
  readonly pulse: Pulse;
  vitals(): Promise<Vitals>;
  /** Ends the process, by force if need be. Resolves when it is gone and cleaned up after. */
  stop(): Promise<void>;
  /** The same by force at once, also for a process that stands still. It is lost when this returns. */
  kill(): Promise<void>;
}

/** The signs by which one can tell that a worker lives and is of use. */
export interface Pulse {
  /** How many pieces of output have come from it. */
  heard(): number;
  /** How many calls of turns it has left unanswered. */
  unanswered(): number;
  /** A cheap question, answered or not. */
  ask(timeoutMs: number): Promise<unknown>;
  hasHome(): Promise<boolean>;
}

export interface WorkerOptions extends Omit<AppServerOptions, 'onClose' | 'onUnanswered'> {
  readonly binaryPath: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Its home, which is also its working directory. */
  readonly cwd: string;
  /** False: its home is gone, or what it reads there. */
  readonly hasHome: () => Promise<boolean>;
  /** A line of the child's stderr. It may hold a user's text. */
  readonly onStderr: (line: string) => void;
  /** Called once when the process is gone, also if it never became ready. */
  readonly cleanUp: () => Promise<void>;
  /** How long the process may take to end by itself, and then once more after SIGTERM. */
  readonly stopGraceMs?: number;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

const STOP_GRACE_MS = 2_000;
const STDERR_LINES_KEPT = 10;

export const startWorker = async (options: WorkerOptions): Promise<Worker> => {
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
  let heard = 0;
  let unanswered = 0;
  try {
    const transport = createStdioTransport(child);
    child.stdout.on('data', () => {
      heard += 1;
    });
    const appServer = await connectAppServer(transport, {
      ...options,
      onUnanswered: () => {
        unanswered += 1;
      },
      onClose: () => {
        lost.abort(new Error('the app-server process has ended'));
        // A process that has closed its stdout is of no use, even if it still runs.
        void stopping('gently');
      },
    });
    const pid = child.pid ?? 0;
    return {
      pid,
      appServer,
      lost: lost.signal,
      pulse: {
        heard: () => heard,
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

/** Rejects if the process cannot be spawned, for whatever reason. */
const spawnChild = async (options: WorkerOptions, onStderr: (line: string) => void): Promise<Child> => {
  const child: ChildProcess = spawn(options.binaryPath, ['app-server'], {
    cwd: options.cwd,
    env: options.environment,
    stdio: ['pipe', 'pipe', 'pipe'],
    // A group of its own: Ctrl-C in a terminal is for us, and we let the turns finish first. When we
    // die the child reads the end of its stdin and goes, so it is never an orphan. And a session of its own, by
    // which we find what it leaves behind.
    detached: process.platform !== 'win32',
  });
  // First of all: without a listener the error of a failed spawn or kill would end our own process.
  child.on('error', (error) => onStderr(error.message));
  const decoder = createLineDecoder();
  // Node creates no pipes if the process has run out of descriptors (EMFILE), whatever its types say.
  child.stderr?.on('data', (chunk: Buffer) => decoder.push(chunk).forEach(onStderr));
  await once(child, 'spawn');
  return child as Child;
};

const cleanUpAfter = async ({ cleanUp, onStderr }: WorkerOptions): Promise<void> => {
  try {
    await cleanUp();
  } catch (error) {
    // A directory that cannot be removed now is swept at the next start.
    onStderr(`could not clean up: ${String(error)}`);
  }
};

/**
 * The way out, once for all callers: end of stdin, SIGTERM, SIGKILL, then clean up. SIGKILL ends also a process that
 * was stopped by a signal; what that one has started is ended too.
 */
const createStop = (child: Child, options: WorkerOptions) => {
  const { stopGraceMs = STOP_GRACE_MS } = options;
  const isGone = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => {
      resolve();
      // Something that the child started may hold its stdout open: do not wait for that.
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
