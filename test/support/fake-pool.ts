import type { TurnEvent } from '../../src/canonical/events/turn-event.ts';
import type { TurnRequest } from '../../src/canonical/request/turn-request.ts';
import type { ThreadSignal } from '../../src/codex/app-server.ts';
import type { WorkerPool } from '../../src/codex/worker/supervisor.ts';
import { engineOn } from './engine.ts';
import { collect } from './turn-events.ts';
import { turnContext, turnRequest } from './turn-request.ts';

/** What a fake app-server does once a turn is started. */
export type Behaviour = (thread: FakeThread) => void;

export interface FakeThread {
  send(method: string, params: Record<string, unknown>): void;
  /** Calls a declared tool. */
  call(params: unknown): void;
  close(): void;
  /** Sends a message of these deltas, and ends the turn. */
  answer(...deltas: readonly string[]): void;
}

export interface FakePool {
  readonly pool: WorkerPool;
  /** Methods in calling order. */
  readonly calls: string[];
  /** The answers to those calls. */
  readonly answers: unknown[];
  openLeases(): number;
}

export const fakePool = (
  behaviours: readonly Behaviour[],
  refuse: (method: string, attempt: number) => Error | null = () => null,
  wait: (method: string) => Promise<void> = () => Promise.resolve(),
): FakePool => {
  const calls: string[] = [];
  const answers: unknown[] = [];
  let leases = 0;
  let attempt = 0;
  const pool = {
    async lease(signal: AbortSignal) {
      signal.throwIfAborted();
      leases += 1;
      attempt += 1;
      const mine = attempt;
      let isOut = true;
      let listener: (signal: ThreadSignal) => void = () => {};
      const ids = { threadId: `thread-${mine}`, turnId: `turn-${mine}` };
      const thread: FakeThread = {
        send: (method, params) => listener({ kind: 'notification', method, params: { ...ids, ...params } }),
        call: (params) => listener({ kind: 'tool-call', params, respond: (result) => answers.push(result) }),
        close: () => listener({ kind: 'closed' }),
        answer(...deltas) {
          thread.send('item/started', { item: { type: 'agentMessage', id: 'm', phase: null } });
          for (const delta of deltas) thread.send('item/agentMessage/delta', { itemId: 'm', delta });
          const content = [{ type: 'output_text', text: deltas.join('') }];
          thread.send('rawResponseItem/completed', {
            item: { type: 'message', role: 'assistant', id: 'm', content },
          });
          thread.send('turn/completed', { turn: { id: ids.turnId, status: 'completed', error: null } });
        },
      };
      return {
        isCurrent: () => true,
        release: () => {
          if (isOut) leases -= 1;
          isOut = false;
        },
        appServer: {
          async request(method: string) {
            calls.push(method);
            const refusal = refuse(method, mine);
            if (refusal !== null) throw refusal;
            await wait(method);
            if (method === 'thread/start') return { thread: { id: ids.threadId } };
            if (method !== 'turn/start') return {};
            setImmediate(() => behaviours[Math.min(mine, behaviours.length) - 1]?.(thread));
            return { turn: { id: ids.turnId } };
          },
          watchThread(_: string, given: (signal: ThreadSignal) => void) {
            listener = given;
            return () => {
              listener = () => {};
            };
          },
        },
      };
    },
  } as unknown as WorkerPool;
  return { pool, calls, answers, openLeases: () => leases };
};

export const never = new AbortController().signal;

export const run = ({ pool }: FakePool, different: Partial<TurnRequest> = {}): Promise<TurnEvent[]> =>
  collect(engineOn(pool).plan(turnRequest(different), turnContext()).run(never));

export const settled = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

/** The calls that end a running turn. */
export const CLOSED = ['turn/interrupt', 'thread/unsubscribe'];
