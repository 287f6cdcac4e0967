import { describe, expect, it, vi } from 'vitest';

import { carrying, fakeMcp, keptTrace, sourceOptions } from '../../../../test/support/carried.ts';
import { COMPLETE, completedTurn, GIVEN_UP } from '../../../../test/support/carriers.ts';
import { SHAPE } from '../../../../test/support/edited.ts';
import { settled } from '../../../../test/support/fake-pool.ts';
import { done, message } from '../../../../test/support/upstream-events.ts';
import { turnContext, turnRequest } from '../../../../test/support/turn-request.ts';
import type { TurnSource, UpstreamEvent } from '../../../codex/sources/source.ts';
import { threadStartOf } from './carrier-plans.ts';
import { freshThread } from './carrier.ts';

const BEGUN: UpstreamEvent = { kind: 'answer-started' };
const PLAIN = ['thread/start', 'thread/inject_items', 'turn/start'];
const SLUG = 'slug-of-gpt-5.5';

type World = ReturnType<typeof carrying>;
/** A plain turn from its start to the end that codex reports. */
const runOne = async (world: World, keyId = 'one', how = COMPLETE): Promise<void> => {
  const { turn, start } = world.turnOf({}, { caller: { keyId } });
  await start();
  const threadId = world.relay.turns.at(-1)?.expected.threadId ?? '';
  world.worker.complete(threadId);
  await turn.end(how);
};

describe('a carried turn', () => {
  it('gives its request to the relay, and reads the relay and the app-server', async () => {
    const { worker, relay, turnOf, methods } = carrying();
    const context = turnContext({ caller: { keyId: 'one' } });
    const { turn, start, signals } = turnOf({ instructions: 'Be brief.' }, context);
    expect(turn.report).toBeNull();
    expect(() => turn.sourceOf(sourceOptions())).toThrow('has not been started');
    expect([await start(), methods()]).toEqual(['turn-1', PLAIN]);
    expect(relay.turns[0]?.expected).toMatchObject({ slug: SLUG, isFirstOfThread: true });
    expect(relay.turns[0]?.claims).toEqual([
      {
        request: turnRequest({ instructions: 'Be brief.' }),
        context,
        session: 'id-of-conversation',
        shape: {
          strategy: SHAPE.strategy,
          injected: { instructions: null, items: turnRequest().items },
          developerInstructions: null,
          mcp: null,
        },
        onUpstreamEvent: expect.any(Function) as unknown,
        onActivity: expect.any(Function) as unknown,
      },
    ]);
    relay.turns[0]?.claims[0]?.onActivity('sent');
    relay.turns[0]?.claims[0]?.onUpstreamEvent(BEGUN);
    worker.complete('thread-1');
    expect(signals).toEqual([{ kind: 'activity', of: 'sent' }, BEGUN, completedTurn()]);
    turn.begin();
    expect(relay.turns[0]?.done).toEqual(['started turn-1', 'claimed', 'begun']);
    expect(turn.report).toEqual({ signIn: null, ignored: [], limitsOutput: true, headers: {} });
  });

  it('lets no model request follow its last answer', async () => {
    const { relay, turnOf } = carrying();
    const { turn, start } = turnOf();
    // Without a carrier there is nothing to refuse.
    turn.heard({ isLastAnswer: true } as TurnSource);
    await start();
    turn.heard({ isLastAnswer: false } as TurnSource);
    expect(relay.turns[0]?.done).toEqual(['started turn-1', 'claimed']);
    turn.heard({ isLastAnswer: true } as TurnSource);
    expect(relay.turns[0]?.done).toEqual(['started turn-1', 'claimed', 'refused']);
  });
});

describe('the next turn', () => {
  it('is started when the first answer has started, and once', async () => {
    const world = carrying();
    await world.turnOf().start();
    await settled();
    world.upstream({ kind: 'refused', failure: { kind: 'upstream_error', message: '' } as never });
    await settled();
    expect(world.methods()).toEqual(PLAIN);
    const prepare = vi.spyOn(world.turns, 'prepare');
    const first = world.relay.turns[0]?.claims[0];
    first?.onUpstreamEvent(BEGUN);
    first?.onUpstreamEvent(done(message('Hi')) as UpstreamEvent);
    first?.onUpstreamEvent(BEGUN);
    await settled();
    expect(prepare.mock.calls).toEqual([[world.worker.lease, SLUG, 'one']]);
    expect(world.methods()).toEqual([...PLAIN, ...PLAIN]);
  });

  it('carries a request of any caller, without another call', async () => {
    const world = carrying();
    await world.turnOf().start();
    world.upstream(BEGUN);
    await settled();
    expect(await world.turnOf({}, { caller: { keyId: 'other' } }).start()).toBe('turn-2');
    expect(world.methods()).toHaveLength(6);
    expect([world.noted.fates, world.noted.misses]).toEqual([['used'], 1]);
  });

  it.each(['a review', 'MCP servers'])('is not started by a turn with %s', async (what) => {
    const world = carrying();
    const isReview = what === 'a review';
    const { turn, start } = world.turnOf(isReview ? { isReview } : {});
    await start(isReview ? null : fakeMcp());
    const { length } = world.worker.calls;
    world.upstream(BEGUN);
    await settled();
    expect(world.worker.calls).toHaveLength(length);
    // It took none either, and leaves no thread.
    world.worker.complete('thread-1');
    await turn.end(COMPLETE);
    expect(world.noted).toEqual({ fates: [], misses: 0, waiting: [] });
    expect([world.worker.threadsOf('thread/unsubscribe'), world.idle().filter((size) => size > 0)]).toEqual([
      ['thread-1'],
      [],
    ]);
  });
});

describe('a turn with MCP servers', () => {
  it('sends the request that they have prepared', async () => {
    const { relay, turnOf } = carrying();
    const mcp = fakeMcp(async (request) => ({ ...request, instructions: 'Prepared.' }));
    await turnOf().start(mcp);
    const claimed = relay.turns[0]?.claims[0];
    expect([claimed?.request.instructions, claimed?.shape.mcp]).toEqual(['Prepared.', mcp]);
  });

  it('is cut off at once: the app-server would run a call in the bytes that have ended the turn', async () => {
    const { relay, turnOf } = carrying();
    const { turn, start } = turnOf();
    await start(fakeMcp());
    const ending = turn.end(GIVEN_UP);
    expect(relay.turns[0]?.done.at(-1)).toBe('closed');
    await ending;
  });
});

describe('the thread of a turn', () => {
  it('carries the next one of its caller, and of no other', async () => {
    const world = carrying(0);
    await runOne(world);
    await runOne(world, 'other');
    await runOne(world);
    expect(world.worker.threadsOf('turn/start')).toEqual(['thread-1', 'thread-2', 'thread-1']);
    expect(world.relay.turns.map(({ expected }) => expected.isFirstOfThread)).toEqual([true, true, false]);
  });

  it.each([
    ['is given up', GIVEN_UP],
    ['has no usage', { ...COMPLETE, usage: null }],
  ])('carries no other one if this one %s', async (_, how) => {
    const world = carrying(0);
    await runOne(world, 'one', how);
    await runOne(world);
    expect(world.worker.threadsOf('turn/start')).toEqual(['thread-1', 'thread-2']);
    expect(world.worker.threadsOf('thread/unsubscribe')).toEqual(['thread-1']);
  });

  it('carries 16 turns', async () => {
    const world = carrying(0);
    for (let nth = 0; nth < 17; nth += 1) await runOne(world);
    expect(world.worker.threadsOf('turn/start')).toEqual([
      ...Array.from({ length: 16 }, () => 'thread-1'),
      'thread-2',
    ]);
    expect(world.worker.threadsOf('thread/unsubscribe')).toEqual(['thread-1']);
  });
});

describe('a turn that ends while it is being started', () => {
  it('leaves its carrier, which no one has used, for another one', async () => {
    const { worker, relay, turns, turnOf, taken } = carrying();
    const ended = vi.spyOn(turns, 'ended');
    const started = Promise.withResolvers<void>();
    worker.beforeAnswer = (method) => (method === 'turn/start' ? started.promise : Promise.resolve());
    const { turn, start, signals } = turnOf();
    const starting = start();
    await settled();
    const ending = turn.end(GIVEN_UP);
    started.resolve();
    await expect(starting).rejects.toThrow('given up');
    await ending;
    expect([relay.turns[0]?.done, signals]).toEqual([['started turn-1'], []]);
    // Once: otherwise fewer requests seem to run than do, and soon no turn is pre-started.
    expect(ended).toHaveBeenCalledOnce();
    expect(taken(await turns.take(worker.lease, SLUG, 'another'))).toBe('thread-1');
    expect([worker.threadsOf('turn/interrupt'), worker.threadsOf('thread/unsubscribe')]).toEqual([[], []]);
  });

  it('is closed as soon as it has started if its worker is being replaced', async () => {
    const { worker, relay, turnOf } = carrying();
    const started = Promise.withResolvers<void>();
    worker.beforeAnswer = (method) => (method === 'turn/start' ? started.promise : Promise.resolve());
    const { turn, start } = turnOf();
    const starting = start();
    await settled();
    worker.isCurrent = false;
    const ending = turn.end(GIVEN_UP);
    started.resolve();
    await expect(starting).rejects.toThrow('given up');
    await ending;
    expect(worker.threadsOf('turn/interrupt')).toEqual(['thread-1']);
    expect(worker.threadsOf('thread/unsubscribe')).toEqual(['thread-1']);
    expect(relay.turns[0]?.done).toEqual(['started turn-1', 'refused']);
  });

  it('is over if it could not be started', async () => {
    const { worker, turns, turnOf } = carrying();
    const ended = vi.spyOn(turns, 'ended');
    worker.beforeAnswer = () => Promise.reject(new Error('refused'));
    const { turn, start } = turnOf();
    await expect(start()).rejects.toThrow('refused');
    await turn.end(GIVEN_UP);
    expect(ended.mock.calls).toEqual([[worker.lease, SLUG, null]]);
  });

  it('has ended before it could begin', async () => {
    const { worker, turns, turnOf } = carrying();
    const ended = vi.spyOn(turns, 'ended');
    await turnOf().turn.end(GIVEN_UP);
    expect([ended.mock.calls, worker.calls]).toEqual([[], []]);
  });
});

describe('the capture of a turn', () => {
  const calls = (facts: readonly unknown[]): unknown[] =>
    (facts as [string, { method?: string; isSpare?: boolean }][])
      .filter(([kind]) => kind === 'rpc-sent')
      .map(([, { method, isSpare = false }]) => [method, isSpare]);

  it('has the calls of its own carrier', async () => {
    const trace = keptTrace();
    await carrying().turnOf({}, { trace }).start();
    expect(calls(trace.facts)).toEqual(PLAIN.map((method) => [method, false]));
  });

  it('has the earlier calls of a pre-started turn, and its signals', async () => {
    const { turns, worker, turnOf } = carrying();
    turns.prepare(worker.lease, SLUG, 'one');
    await settled();
    const trace = keptTrace();
    await turnOf({}, { trace }).start();
    expect(calls(trace.facts)).toEqual(PLAIN.map((method) => [method, true]));
    const before = trace.facts.length;
    worker.complete('thread-1');
    expect(trace.facts.slice(before)).toEqual([
      [
        'rpc-told',
        { thread: 'thread-1', method: 'turn/completed', params: { turn: { status: 'completed' } } },
      ],
    ]);
  });

  it('has nothing of the next request that its carrier carries', async () => {
    const { relay, worker, turnOf } = carrying();
    const [trace, next] = [keptTrace(), keptTrace()];
    const { turn, start } = turnOf({}, { trace });
    await start();
    Object.assign(relay.turns[0] ?? {}, { letsGo: true });
    await turn.end(COMPLETE);
    const before = trace.facts.length;
    await turnOf({}, { trace: next }).start();
    worker.complete('thread-1');
    expect(trace.facts.slice(before)).toEqual([]);
    expect(next.facts.at(-1)).toEqual([
      'rpc-told',
      { thread: 'thread-1', method: 'turn/completed', params: { turn: { status: 'completed' } } },
    ]);
  });

  it('has the earlier start of a thread that is used again', async () => {
    const { turns, worker, planDeps, turnOf } = carrying(0);
    const thread = { ...freshThread('thread-9', SLUG), caller: 'one', turns: 1 };
    turns.ended(worker.lease, SLUG, thread);
    const trace = keptTrace();
    await turnOf({}, { trace }).start();
    expect(calls(trace.facts)).toEqual(PLAIN.map((method) => [method, method === 'thread/start']));
    const { method, params, result } = threadStartOf(thread, planDeps.settings);
    expect(trace.facts.slice(0, 2)).toEqual([
      ['rpc-sent', { call: 1, method, params, isSpare: true }],
      ['rpc-answered', { call: 1, method, result }],
    ]);
  });
});
