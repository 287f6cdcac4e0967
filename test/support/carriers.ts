import type { AppServer, ThreadSignal } from '../../src/codex/app-server.ts';
import type { HeldTurnHandle } from '../../src/codex/relay/server/held-turns.ts';
import type { ExpectedTurn } from '../../src/codex/relay/server/held-turn.ts';
import type { Relay } from '../../src/codex/relay/server/relay.ts';
import type { RelayTurnParams } from '../../src/codex/relay/server/relay-turn.ts';
import type { WorkerLease } from '../../src/codex/worker/supervisor.ts';
import type { TurnEnd } from '../../src/engine/drivers/driver.ts';

/** An app-server without a process, with threads `thread-1`, `thread-2` … and turns `turn-1`, `turn-2` … */
export interface FakeWorker {
  readonly appServer: AppServer;
  readonly lease: WorkerLease;
  /** Methods and params, in calling order. */
  readonly calls: (readonly [method: string, params: unknown])[];
  /** The calls of one method, by the thread that they name. */
  threadsOf(method: string): readonly string[];
  /** Threads whose signals someone reads. */
  watched(): readonly string[];
  send(threadId: string, signal: ThreadSignal): void;
  /** The app-server ends the turn of the thread. */
  complete(threadId: string, status?: string): void;
  /** The process exits. */
  exit(): void;
  isCurrent: boolean;
  /** Runs before a call is answered: it may wait or throw. */
  beforeAnswer: (method: string) => Promise<void>;
}

export const fakeWorker = (): FakeWorker => {
  const listeners = new Map<string, Set<(signal: ThreadSignal) => void>>();
  let [threads, turns, hasExited] = [0, 0, false];
  const appServer = {
    async request(method: string, params: unknown) {
      worker.calls.push([method, params]);
      if (hasExited) throw new Error('the worker has exited');
      if (method === 'thread/start') threads += 1;
      if (method === 'turn/start' || method === 'review/start') turns += 1;
      const answer = { thread: { id: `thread-${threads}` }, turn: { id: `turn-${turns}` } };
      await worker.beforeAnswer(method);
      return answer;
    },
    watchThread(threadId: string, listener: (signal: ThreadSignal) => void) {
      if (hasExited) {
        listener({ kind: 'closed' });
        return () => {};
      }
      const all = listeners.get(threadId) ?? new Set();
      listeners.set(threadId, all.add(listener));
      return () => {
        all.delete(listener);
      };
    },
  } as unknown as AppServer;
  const worker: FakeWorker = {
    appServer,
    lease: { appServer, isCurrent: () => worker.isCurrent, release() {} },
    calls: [],
    threadsOf: (wanted) =>
      worker.calls
        .filter(([method]) => method === wanted)
        .map(([, params]) => (params as { readonly threadId: string }).threadId),
    watched: () => [...listeners].flatMap(([threadId, all]) => [...all].map(() => threadId)),
    send(threadId, signal) {
      for (const listener of listeners.get(threadId) ?? []) listener(signal);
    },
    complete: (threadId, status = 'completed') => worker.send(threadId, completedTurn(status)),
    exit() {
      hasExited = true;
      for (const threadId of new Set(worker.watched())) worker.send(threadId, { kind: 'closed' });
      listeners.clear();
    },
    isCurrent: true,
    beforeAnswer: async () => {},
  };
  return worker;
};

export const completedTurn = (status = 'completed'): ThreadSignal => ({
  kind: 'notification',
  method: 'turn/completed',
  params: { turn: { status } },
});

/** A turn in the fake relay, and what was done with it. */
export interface FakeHeldTurn {
  readonly expected: ExpectedTurn;
  readonly done: string[];
  readonly claims: RelayTurnParams[];
  expiresAtMs: number | null;
  /** Of each claimed turn. */
  answerBytes: number;
  /** Whether the app-server waits in it for a request. */
  isReady: boolean;
  /** Whether the app-server has asked for the newest claim. */
  wasAsked: boolean;
  /** Whether the app-server can go on without the answer. */
  letsGo: boolean;
}

export interface FakeRelay extends Pick<Relay, 'expect' | 'sessionOf'> {
  readonly turns: FakeHeldTurn[];
}

export const fakeRelay = (): FakeRelay => {
  const turns: FakeHeldTurn[] = [];
  const expect = (expected: ExpectedTurn): HeldTurnHandle => {
    const turn: FakeHeldTurn = {
      expected,
      done: [],
      claims: [],
      expiresAtMs: null,
      answerBytes: 0,
      isReady: true,
      wasAsked: true,
      letsGo: false,
    };
    const note = (what: string): void => void turn.done.push(what);
    turns.push(turn);
    return {
      get expiresAtMs() {
        return turn.expiresAtMs;
      },
      get isReady() {
        return turn.isReady;
      },
      started: (turnId) => note(`started ${turnId}`),
      refuseFurtherRequests: () => note('refused'),
      claim(params) {
        note('claimed');
        turn.claims.push(params);
        return {
          report: { signIn: null, ignored: [], limitsOutput: true, headers: {} },
          get answerBytes() {
            return turn.answerBytes;
          },
          get wasAsked() {
            return turn.wasAsked;
          },
          letGo(after) {
            note(`let go: ${after}`);
            return turn.letsGo;
          },
          begin: () => note('begun'),
          close: () => note('closed'),
        };
      },
    };
  };
  return { turns, expect, sessionOf: async ({ context }) => `id-of-${context.conversation}` };
};

/** A normal end. */
export const COMPLETE: TurnEnd = {
  isComplete: true,
  usage: {
    inputTokens: 10,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    outputTokens: 5,
    reasoningTokens: 0,
    totalTokens: 15,
  },
};
export const GIVEN_UP: TurnEnd = { isComplete: false, usage: null };
