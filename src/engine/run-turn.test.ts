import { describe, expect, it } from 'vitest';

import { collect, fixedAmbient } from '../../test/support/turn-events.ts';
import { turnRequest } from '../../test/support/turn-request.ts';
import { failure, GatewayError } from '../canonical/failure.ts';
import type { TurnEvent } from '../canonical/turn-event.ts';
import type { ThreadSignal } from '../codex/app-server.ts';
import { ConnectionClosed, RpcError } from '../codex/rpc/errors.ts';
import type { WorkerPool } from '../codex/worker/supervisor.ts';
import { OTHER_HISTORY } from '../codex/translate/fit-history.ts';
import { Approaches } from './approaches.ts';
import { createEngine } from './run-turn.ts';
import { SpareThreads } from './spare-threads.ts';
import { UnreadTotal } from './unread-total.ts';

/** What a fake app-server does once a turn is started. */
type Behaviour = (thread: FakeThread) => void;

interface FakeThread {
  send(method: string, params: Record<string, unknown>): void;
  ask(method: string, params: unknown): void;
  close(): void;
  /** A message of these deltas, and the end of the turn. */
  answer(...deltas: readonly string[]): void;
}

interface FakePool {
  readonly pool: WorkerPool;
  /** Methods in the order in which they were called. */
  readonly calls: string[];
  /** What was answered to requests of the server. */
  readonly answers: unknown[];
  openLeases(): number;
}

const fakePool = (
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
        ask: (method, params) =>
          listener({
            kind: 'request',
            method,
            params,
            respond: (result) => answers.push({ result }),
            reject: (message) => answers.push({ message }),
          }),
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

const engineOf = ({ pool }: FakePool, maxUnread = Infinity) =>
  createEngine({
    workers: pool,
    relay: null,
    spares: new SpareThreads(fixedAmbient().clock),
    approaches: new Approaches({ lanes: null, hasRelay: false, clock: fixedAmbient().clock, onLearnt() {} }),
    historyRules: OTHER_HISTORY,
    effortsOf: () => null,
    settings: {
      instructionsTarget: 'base',
      sandboxMode: 'read-only',
      approvalPolicy: 'never',
      workdir: '/tmp/work',
      hasRelay: false,
    },
    idleTimeoutMs: 60_000,
    unread: new UnreadTotal({ maxBytes: maxUnread, onChange() {} }),
    ambient: fixedAmbient(),
    onOddity() {},
    onRefused() {},
  });

const never = new AbortController().signal;
const run = (fake: FakePool, different: Parameters<typeof turnRequest>[0] = {}): Promise<TurnEvent[]> =>
  collect(engineOf(fake).run(turnRequest(different), never));
const outcomeOf = (events: readonly TurnEvent[]): unknown => {
  const last = events.at(-1);
  return last?.type === 'turn-ended' ? last.outcome : null;
};
const settled = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

/** What a turn that was still running ends with. */
const CLOSED = ['turn/interrupt', 'thread/unsubscribe'];

describe('createEngine', () => {
  it('starts a thread, injects the conversation, runs the turn, and gives the worker back', async () => {
    const fake = fakePool([(thread) => thread.answer('Hel', 'lo')]);
    expect(await run(fake)).toEqual([
      { type: 'turn-accepted', ignored: [], limitsOutput: false, headers: {} },
      { type: 'item-started', item: { kind: 'message', id: 'm', role: 'assistant', parts: [] } },
      { type: 'item-delta', itemId: 'm', at: 'text', delta: 'Hel' },
      { type: 'item-delta', itemId: 'm', at: 'text', delta: 'lo' },
      {
        type: 'item-ended',
        item: {
          kind: 'message',
          id: 'm',
          role: 'assistant',
          parts: [{ kind: 'text', text: 'Hello' }],
          status: 'completed',
        },
      },
      { type: 'turn-ended', outcome: { kind: 'completed' }, usage: null, at: 1_800_000_000_000 },
    ]);
    // The turn has ended by itself, so there is nothing to interrupt.
    expect(fake.calls).toEqual(['thread/start', 'thread/inject_items', 'turn/start', 'thread/unsubscribe']);
    expect(fake.openLeases()).toBe(0);
  });

  it('names what nobody can tell the backend without a relay', async () => {
    const fake = fakePool([(thread) => thread.answer('x')]);
    const wire = [
      { field: 'temperature', value: 0.5, name: 'temperature', matters: true },
      { field: 'metadata', value: {}, name: 'metadata', matters: false },
    ] as const;
    const [first] = await run(fake, { wire });
    expect(first).toEqual({
      type: 'turn-accepted',
      ignored: ['temperature'],
      limitsOutput: false,
      headers: {},
    });
  });

  it('ends at the calls of the client, and interrupts the turn', async () => {
    const fake = fakePool([
      (thread) => {
        thread.ask('item/tool/call', { tool: 'f' });
        thread.send('rawResponseItem/completed', {
          item: { type: 'function_call', id: 'fc', call_id: 'c', name: 'f', arguments: '{}' },
        });
        thread.send('rawResponse/completed', { responseId: 'r', usage: null });
      },
    ]);
    const tools = [{ name: 'f', description: null, parameters: null, strict: null }];
    const events = await run(fake, { tools });
    expect(outcomeOf(events)).toEqual({ kind: 'tool-calls' });
    await settled();
    expect([fake.calls.slice(-2), fake.openLeases(), fake.answers]).toEqual([CLOSED, 0, []]);
  });

  it('answers no other request of the app-server', async () => {
    const fake = fakePool([
      (thread) => {
        thread.ask('item/commandExecution/requestApproval', {});
        thread.answer('x');
      },
    ]);
    await run(fake);
    expect(fake.answers).toEqual([{ message: 'not supported' }]);
  });

  it('tells a failure as the end of the turn, without saying that it was accepted', async () => {
    const fake = fakePool([
      (thread) =>
        thread.send('turn/completed', {
          turn: {
            id: 'turn-1',
            status: 'failed',
            error: { message: '', codexErrorInfo: 'contextWindowExceeded' },
          },
        }),
    ]);
    expect(await run(fake)).toEqual([
      {
        type: 'turn-ended',
        outcome: { kind: 'failed', failure: failure('context_length_exceeded', { param: 'input' }) },
        usage: null,
        at: 1_800_000_000_000,
      },
    ]);
  });
});

describe('a refused call', () => {
  it('is thrown as a failure, and the worker is given back', async () => {
    const refusal = new RpcError('thread/inject_items', { code: -32_600, message: 'items[0]: no' });
    const fake = fakePool([], (method) => (method === 'thread/inject_items' ? refusal : null));
    const error: unknown = await run(fake).catch((one: unknown) => one);
    expect(error instanceof GatewayError && error.failure).toEqual(
      failure('invalid_prompt', { message: 'items[0]: no' }),
    );
    await settled();
    expect([fake.calls.at(-1), fake.openLeases()]).toEqual(['thread/unsubscribe', 0]);
  });
});

describe('a lost worker', () => {
  it('before anything was said: another one runs the turn', async () => {
    const fake = fakePool([(thread) => thread.close(), (thread) => thread.answer('second')]);
    const events = await run(fake);
    expect(events.flatMap((event) => (event.type === 'item-delta' ? [event.delta] : []))).toEqual(['second']);
    expect(events.filter((event) => event.type === 'turn-accepted')).toHaveLength(1);
    expect([fake.calls.filter((call) => call === 'turn/start').length, fake.openLeases()]).toEqual([2, 0]);
  });

  it('while the turn is being started: the same', async () => {
    const fake = fakePool([() => {}, (thread) => thread.answer('second')], (method, attempt) =>
      method === 'thread/start' && attempt === 1 ? new ConnectionClosed() : null,
    );
    expect(outcomeOf(await run(fake))).toEqual({ kind: 'completed' });
  });

  it('again and again: the client is told in the end', async () => {
    const fake = fakePool([(thread) => thread.close()]);
    expect(outcomeOf(await run(fake))).toEqual({ kind: 'failed', failure: failure('worker_lost') });
    expect(fake.calls.filter((call) => call === 'turn/start')).toHaveLength(3);
    expect(fake.openLeases()).toBe(0);
  });

  it('after something was said: the turn ends there, what is open too', async () => {
    const fake = fakePool([
      (thread) => {
        thread.send('item/started', { item: { type: 'agentMessage', id: 'm', phase: null } });
        thread.send('item/agentMessage/delta', { itemId: 'm', delta: 'half' });
        thread.close();
      },
    ]);
    expect((await run(fake)).slice(-2)).toMatchObject([
      {
        type: 'item-ended',
        item: {
          kind: 'message',
          id: 'm',
          role: 'assistant',
          parts: [{ kind: 'text', text: 'half' }],
          status: 'incomplete',
        },
      },
      {
        type: 'turn-ended',
        outcome: { kind: 'failed', failure: failure('worker_lost') },
        at: 1_800_000_000_000,
      },
    ]);
    // Nobody is there to be interrupted.
    expect([fake.calls.at(-1), fake.openLeases()]).toEqual(['turn/start', 0]);
  });
});

describe('a reader', () => {
  const hanging: Behaviour = (thread) => {
    thread.send('item/started', { item: { type: 'agentMessage', id: 'm', phase: null } });
    thread.send('item/agentMessage/delta', { itemId: 'm', delta: 'wait' });
  };

  it('that leaves: the turn is interrupted and the worker given back', async () => {
    const fake = fakePool([hanging]);
    for await (const event of engineOf(fake).run(turnRequest(), never)) {
      if (event.type === 'item-delta') break;
    }
    await settled();
    expect([fake.calls.slice(-2), fake.openLeases()]).toEqual([CLOSED, 0]);
  });

  it('whose client goes while the model is silent: the same, at once', async () => {
    const fake = fakePool([() => {}]);
    const controller = new AbortController();
    const reason = new Error('gone');
    const reading = collect(engineOf(fake).run(turnRequest(), controller.signal));
    while (!fake.calls.includes('turn/start')) await settled();
    controller.abort(reason);
    await expect(reading).rejects.toBe(reason);
    await settled();
    expect([fake.calls.slice(-2), fake.openLeases()]).toEqual([CLOSED, 0]);
  });

  it.each([
    ['thread/start', ['thread/start', 'thread/unsubscribe']],
    ['thread/inject_items', ['thread/start', 'thread/inject_items', 'thread/unsubscribe']],
    [
      'turn/start',
      // At once, and when it is known which turn is to be interrupted.
      ['thread/start', 'thread/inject_items', 'turn/start', 'thread/unsubscribe', ...CLOSED],
    ],
  ])('whose client goes during %s: the thread is closed when it can be', async (held, calls) => {
    const gate = Promise.withResolvers<void>();
    const fake = fakePool(
      [hanging],
      () => null,
      (method) => (method === held ? gate.promise : Promise.resolve()),
    );
    const controller = new AbortController();
    const reading = collect(engineOf(fake).run(turnRequest(), controller.signal));
    while (!fake.calls.includes(held)) await settled();
    controller.abort(new Error('gone'));
    await expect(reading).rejects.toThrow('gone');
    gate.resolve();
    await settled();
    await settled();
    expect([fake.calls, fake.openLeases()]).toEqual([calls, 0]);
  });

  it('whose client is gone from the start: no worker is taken', async () => {
    const fake = fakePool([hanging]);
    const reading = collect(engineOf(fake).run(turnRequest(), AbortSignal.abort(new Error('gone'))));
    await expect(reading).rejects.toThrow('gone');
    expect([fake.calls, fake.openLeases()]).toEqual([[], 0]);
  });

  it('that does not read while the model writes without end: the turn is given up', async () => {
    const fake = fakePool([
      (thread) => {
        thread.send('item/started', { item: { type: 'agentMessage', id: 'm', phase: null } });
        const delta = 'x'.repeat(64 * 1024);
        for (let count = 0; count < 800; count += 1) {
          thread.send('item/agentMessage/delta', { itemId: 'm', delta });
        }
      },
    ]);
    // What was not read is not kept for a reader who may never come.
    await expect(run(fake)).rejects.toThrow(failure('client_too_slow').message);
    await settled();
    expect([fake.calls.slice(-2), fake.openLeases()]).toEqual([CLOSED, 0]);
  });

  it('that is the furthest behind when all together leave too much unread: only its turn is given up', async () => {
    const writes = (thread: FakeThread): void => {
      thread.send('item/started', { item: { type: 'agentMessage', id: 'm', phase: null } });
      const delta = 'x'.repeat(64 * 1024);
      for (let count = 0; count < 12; count += 1)
        thread.send('item/agentMessage/delta', { itemId: 'm', delta });
    };
    const fake = fakePool([writes, writes]);
    const engine = engineOf(fake, 1024 * 1024);
    const begin = async () => {
      const reader = engine.run(turnRequest(), never)[Symbol.asyncIterator]();
      await reader.next();
      return reader;
    };
    const slow = await begin();
    const other = await begin();
    await other.next();
    await slow.next();
    await expect(slow.next()).rejects.toThrow(failure('client_too_slow').message);
    expect((await other.next()).value).toMatchObject({ type: 'item-delta' });
    await settled();
    expect(fake.openLeases()).toBe(1);
    await other.return?.();
    await settled();
    expect(fake.openLeases()).toBe(0);
  });

  it('does not hold up those who want to know that its turn is over', async () => {
    const fake = fakePool([(thread) => thread.answer('a', 'b')]);
    let isSettled = false;
    const turn = engineOf(fake).run(turnRequest(), never, () => {
      isSettled = true;
    });
    const reader = turn[Symbol.asyncIterator]();
    await reader.next();
    await settled();
    expect(isSettled).toBe(true);
    await reader.return?.();
  });
});
