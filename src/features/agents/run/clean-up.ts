import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

import type { AppServer } from '../../../codex/app-server.ts';
import { RequestTimeout } from '../../../codex/rpc/errors.ts';
import { yieldToLoop } from '../../../kit/async/event-loop.ts';

export interface AgentThread {
  readonly threadId: string;
  /** Null: no turn was started. */
  readonly turnId: string | null;
}

/** codex answers all of these within milliseconds. */
const ANSWER_MS = 5_000;
/** No answer comes if the turn ends at the same moment. */
const INTERRUPT_MS = 1_000;
const LIST_EVERY_MS = 50;

/** How the end of a thread went. */
export interface ThreadEnd {
  /** False: the app-server does not answer, and has to be killed. */
  readonly isAnswered: boolean;
  /** Whether commands were running that their turn did not wait for. */
  readonly hadCommands: boolean;
}

/** Ends the turn of a thread and the commands that it has left running, then closes it. Never rejects. */
export const endThread = async (
  appServer: AppServer,
  { threadId, turnId }: AgentThread,
  answerMs = ANSWER_MS,
): Promise<ThreadEnd> => {
  const endsAt = performance.now() + answerMs;
  const leftMs = (): number => Math.max(1, endsAt - performance.now());
  const isRunning = async (): Promise<boolean> => {
    const params = { threadId, limit: 1 };
    const options = { timeoutMs: leftMs() };
    const running = await answered(appServer.request('thread/backgroundTerminals/list', params, options));
    return (running?.data.length ?? 0) > 0;
  };
  let hadCommands = false;
  try {
    if (turnId !== null) {
      const timeoutMs = Math.min(INTERRUPT_MS, answerMs);
      await answered(appServer.request('turn/interrupt', { threadId, turnId }, { timeoutMs })).catch(
        () => {},
      );
    }
    hadCommands = await isRunning();
    for (;;) {
      const options = { timeoutMs: leftMs() };
      await answered(appServer.request('thread/backgroundTerminals/clean', { threadId }, options));
      // Those that do not end are killed by the look.
      if (!(await isRunning()) || leftMs() <= LIST_EVERY_MS) break;
      await sleep(LIST_EVERY_MS);
    }
    await answered(appServer.request('thread/unsubscribe', { threadId }, { timeoutMs: answerMs }));
    return { isAnswered: true, hadCommands };
  } catch {
    return { isAnswered: false, hadCommands };
  }
};

/** Null: the app-server has refused it, such as for a thread that is closed already, or it has ended. Rejects without an answer. */
const answered = async <Result>(request: Promise<Result>): Promise<Result | null> => {
  try {
    return await request;
  } catch (error) {
    if (error instanceof RequestTimeout) throw error;
    return null;
  }
};

/** When to look for processes, after the commands were ended: one that had just started may appear late. */
const LOOKS_MS = [0, 200, 600, 1_500];

/**
 * Kills what codex has left behind: a command that is ended within its first moments survives. Resolves to the number of
 * processes. They are found by the name of the run's folder in their command line or environment. Does nothing off Linux:
 * there is no `/proc`, and codex ends commands by their process group. Never rejects.
 */
export const killLeftovers = async (
  folderName: string,
  { since, looksMs = LOOKS_MS }: { readonly since: ProcessTime; readonly looksMs?: readonly number[] },
): Promise<number> => {
  const killed = new Set<number>();
  const older = new Set<number>();
  const startedAt = performance.now();
  for (const afterMs of looksMs) {
    await sleep(Math.max(0, startedAt + afterMs - performance.now()));
    await killNamed(folderName, { since, endsAt: performance.now() + LOOK_MS, killed, older });
  }
  return killed.size;
};

/** Limit of one look, for a machine with very many processes. */
const LOOK_MS = 3_000;

/** A time as the kernel counts those of processes: ticks since it has started. Null: all times. */
export type ProcessTime = number | null;

/** Linux has no other value for programs. */
const TICKS_PER_SECOND = 100;

/** Processes that start from now on have started at this time or later. */
export const processTime = async (): Promise<ProcessTime> => {
  const uptime = Number.parseFloat(await readFile('/proc/uptime', 'utf8').catch(() => ''));
  return Number.isNaN(uptime) ? null : Math.floor((uptime - 1) * TICKS_PER_SECOND);
};

/** Reads at the same time. More would occupy the threads that other files are read with. */
const READERS = 2;

interface Look {
  readonly since: ProcessTime;
  readonly endsAt: number;
  readonly killed: Set<number>;
  /** What has run before: it need not be read again. */
  readonly older: Set<number>;
}

const killNamed = async (name: string, { since, endsAt, killed, older }: Look): Promise<void> => {
  const entries = await readdir('/proc').catch(() => []);
  // The first process of a sandbox is the oldest, and all others end with it.
  const pids = entries
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => pid !== process.pid && !older.has(pid))
    .toSorted((one, other) => one - other)
    .values();
  const readNext = async (): Promise<void> => {
    for (const pid of pids) {
      if (performance.now() > endsAt) return;
      if (!(await isRecent(pid, since))) older.add(pid);
      else if ((await isNamed(pid, name)) && (await isOurs(pid))) {
        kill(pid);
        killed.add(pid);
      }
      await yieldToLoop();
    }
  };
  await Promise.all(Array.from({ length: READERS }, readNext));
};

const kill = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile, or belongs to another user.
  }
};

/** Most processes are older than the run: of those only this is read. */
const isRecent = async (pid: number, since: ProcessTime): Promise<boolean> => {
  const text = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  // After the name, which may contain anything: state, parent, and the start as the 22nd field of all.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return fields[0] !== 'Z' && Number(fields[19]) >= (since ?? 0);
};

/** Whether its command line or environment contains the name. Those of other users cannot be read. */
const isNamed = async (pid: number, name: string): Promise<boolean> => {
  for (const file of ['cmdline', 'environ']) {
    const text = await readFile(`/proc/${pid}/${file}`).catch(() => null);
    if (text?.includes(name) === true) return true;
  }
  return false;
};

/** By its user: the owner of its files in /proc is root if it protects its memory, as the first process of a sandbox does. */
const isOurs = async (pid: number): Promise<boolean> => {
  const status = await readFile(`/proc/${pid}/status`, 'latin1').catch(() => '');
  return Number(/^Uid:\s*(\d+)/m.exec(status)?.[1]) === process.getuid?.();
};
