import { afterAll, describe, expect, it } from 'vitest';

import { dialectSettings } from '../../test/support/dialect-settings.ts';
import { modelList } from '../../test/support/models.ts';
import { planOf } from '../../test/support/plan.ts';
import { collect, fixedAmbient } from '../../test/support/turn-events.ts';
import { noState } from '../../test/support/turn-state.ts';
import { runDeps } from '../compose/core.ts';
import { loadConfig } from '../compose/features.ts';
import { gatewayError } from '../canonical/failure/failure.ts';
import { NO_TRACE } from '../canonical/context/trace.ts';
import { createModelNames } from '../canonical/models/model-names.ts';
import type { TurnEvent } from '../canonical/events/turn-event.ts';
import { unlessAborted } from '../kit/async/wait.ts';
import { createLogger } from '../observe/log.ts';
import { createMetrics } from '../observe/metrics.ts';
import { responsesApi } from '../openai/responses/api.ts';
import type { Turn, TurnContext } from '../canonical/context/turn-context.ts';
import { OPEN_GATE, FREE_PASS, type TurnGate, type GatePass } from './turn-gate.ts';
import { createFormatChecks } from './format/check-format.ts';
import type { HeldBytes } from './body-budget.ts';
import { NOTHING_LOADED, type Api, type Frame, type ParsedRequest } from './api.ts';
import { prepareRun, enterGate, Owned, type PreparedRun } from './start-run.ts';
import type { RunCall } from './run-deps.ts';

const api = responsesApi({
  layout: 'natural',
  usagePolicy: 'exact',
  ignoreClientPrompt: false,
  parallelCalls: true,
  omitsTools: () => false,
  stores: false,
  dialect: dialectSettings(),
});
const formats = createFormatChecks({
  clock: fixedAmbient().clock,
  onUnchecked() {},
  times: { timeoutMs: 30_000, waitMs: 30_000 },
});
afterAll(() => formats.close());

/** A turn whose events come one by one, when the test says so. */
class ManualTurn {
  readonly pulled: string[] = [];
  #allowed = 0;
  #changed = Promise.withResolvers<void>();

  /** Lets the next delta come. */
  step(): void {
    this.#allowed += 1;
    this.#changed.resolve();
  }

  async *events(signal: AbortSignal): AsyncGenerator<TurnEvent> {
    const item = { kind: 'message', role: 'assistant', id: 'msg_1' } as const;
    const text = ['Hel', 'lo'];
    yield { type: 'turn-accepted', ignored: [], limitsOutput: false, headers: {} };
    yield { type: 'item-started', item: { ...item, parts: [] } };
    for (const delta of text) {
      while (this.#allowed === 0) {
        this.#changed = Promise.withResolvers();
        await unlessAborted(this.#changed.promise, signal);
      }
      this.#allowed -= 1;
      this.pulled.push(delta);
      yield { type: 'item-delta', itemId: 'msg_1', at: 'text', delta };
    }
    yield { type: 'item-ended', item: { ...item, parts: [{ kind: 'text', text: text.join('') }] } };
    yield { type: 'turn-ended', outcome: { kind: 'completed' }, usage: null, at: 1_800_000_000_000 };
  }
}

interface Prepared {
  readonly prepared: PreparedRun;
  readonly turn: ManualTurn;
  /** What the run still holds. */
  readonly holds: () => readonly string[];
  /** Sends a model request, as far as its budget knows. */
  readonly asksModel: () => boolean;
  /** What the turn got for further model requests. */
  readonly reserve: () => TurnContext['reserve'];
}

const prepared = async (
  signal: AbortSignal | null = null,
  admit: () => Promise<void> = async () => {},
  gate: TurnGate = OPEN_GATE,
  rendering: Api = api,
): Promise<Prepared> => {
  const metrics = createMetrics();
  const turn = new ManualTurn();
  let reserve: TurnContext['reserve'];
  const ambient = fixedAmbient();
  const holds = new Set(['body']);
  let asksModel = (): boolean => false;
  const held: HeldBytes = {
    caller: 'key',
    bytes: 10,
    start: async () => {},
    grow() {},
    keep() {},
    settle() {},
    letGo: () => void holds.delete('body'),
  };
  const context = { headers: new Headers(), ambient, models: createModelNames(modelList([])) };
  const parsed = api.toTurn(
    api.parse({ model: 'm', input: 'hi', stream: true }, context),
    NOTHING_LOADED,
    context,
  );
  const logger = createLogger({ level: 'silent' });
  const run = await prepareRun(
    rendering,
    parsed,
    {
      requestId: 'req_1',
      startedAt: ambient.clock.now(),
      caller: 'key',
      session: null,
      traceContext: null,
      trace: NO_TRACE,
      held,
      state: noState,
      signal,
      note() {},
    },
    {
      ...runDeps(loadConfig({ PROXY_STATE_DIR: '/nowhere' }), {
        logger,
        metrics,
        isAdmin: () => true,
        observers: [],
        engine: {
          plan(_request, { budget, reserve: given }) {
            reserve = given;
            asksModel = () => budget.take();
            return planOf((own) => turn.events(own));
          },
        },
        models: { names: async () => context.models },
        tokens: { countTexts: async () => 0 },
        formats,
        gate,
      }),
      ambient,
      admission: {
        async enter() {
          await admit();
          holds.add('slot');
          return [{ leave: () => void holds.delete('slot') }];
        },
      },
    },
  );
  return {
    prepared: run,
    turn,
    holds: () => [...holds],
    asksModel: () => asksModel(),
    reserve: () => reserve,
  };
};

const started = async (signal: AbortSignal | null = null, rendering: Api = api) => {
  const { prepared: ready, ...rest } = await prepared(signal, undefined, undefined, rendering);
  return { run: await ready.start(), ...rest };
};

const soon = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

const names = (frames: readonly Frame[]): readonly (string | null)[] => frames.map(({ event }) => event);

const ENDED = [
  'response.created',
  'response.in_progress',
  'response.output_item.added',
  'response.content_part.added',
  'response.output_text.delta',
  'response.output_text.delta',
  'response.output_text.done',
  'response.content_part.done',
  'response.output_item.done',
  'response.completed',
  'done',
];

describe('a detached run', () => {
  it('starts when its frames are read, and gives back what it holds', async () => {
    const { prepared: ready, turn, holds } = await prepared();
    const run = ready.detach();
    await soon();
    expect(holds()).toEqual(['body']);
    turn.step();
    turn.step();
    expect(names(await collect(run.events()))).toEqual(ENDED);
    await run.ended;
    expect(holds()).toEqual([]);
    // What was stored can be rendered again: the meta is data.
    expect(JSON.parse(JSON.stringify(run.meta))).toEqual(run.meta);
  });

  it('ends with the failure if it is not accepted', async () => {
    const { prepared: ready, holds } = await prepared(null, () =>
      Promise.reject(gatewayError('server_overloaded')),
    );
    const frames = await collect(ready.detach().events());
    expect(names(frames)).toEqual([
      'response.created',
      'response.in_progress',
      'error',
      'response.failed',
      'done',
    ]);
    expect(frames[3]?.data).toMatchObject({
      response: { status: 'failed', error: { code: 'server_error' } },
    });
    expect(holds()).toEqual([]);
  });

  it('does not start if its key was revoked while it waited for a place', async () => {
    let isRevoked = false;
    const gate: TurnGate = {
      ...OPEN_GATE,
      check() {
        if (isRevoked) throw gatewayError('invalid_api_key');
      },
    };
    const revoke = async (): Promise<void> => {
      isRevoked = true;
    };
    const { prepared: ready, turn, holds } = await prepared(null, revoke, gate);
    const frames = await collect(ready.detach().events());
    expect(frames[2]?.data).toMatchObject({ code: 'invalid_api_key' });
    expect([turn.pulled, holds()]).toEqual([[], []]);
  });

  it('lets its turn reserve further model requests, within the limits of the key', async () => {
    const signal = new AbortController().signal;
    const asked: unknown[] = [];
    const gate: TurnGate = {
      ...OPEN_GATE,
      enter: async () => ({
        ...FREE_PASS,
        async steer(...args) {
          asked.push(args);
          throw gatewayError('rate_limit_exceeded');
        },
      }),
    };
    const { prepared: ready, reserve } = await prepared(null, async () => {}, gate);
    await expect(reserve()?.(7, signal)).rejects.toMatchObject({ failure: { kind: 'rate_limit_exceeded' } });
    expect(asked).toEqual([[7, signal]]);
    ready.giveUp();
  });

  it('tells the gate whether its model was asked', async () => {
    let asked = (): number => -1;
    const gate: TurnGate = {
      ...OPEN_GATE,
      enter(ask) {
        ({ asked } = ask);
        return OPEN_GATE.enter(ask);
      },
    };
    const { prepared: ready, asksModel } = await prepared(null, async () => {}, gate);
    expect([asked(), asksModel(), asked(), asksModel(), asked()]).toEqual([0, true, 1, true, 1]);
    ready.giveUp();
  });

  it('gives back what it holds if its reader leaves before it starts', async () => {
    const { prepared: ready, holds } = await prepared();
    const run = ready.detach();
    const reader = run.events()[Symbol.asyncIterator]();
    await reader.next();
    await reader.return?.();
    await run.ended;
    expect(holds()).toEqual([]);
  });

  it('throws the reason as soon as it is cancelled', async () => {
    const { prepared: ready, holds } = await prepared();
    const run = ready.detach();
    const reading = collect(run.events());
    await soon();
    run.cancel(new Error('no longer needed'));
    await expect(reading).rejects.toThrow('no longer needed');
    await run.ended;
    expect(holds()).toEqual([]);
  });
});

describe('a foreground run', () => {
  it('runs no faster than it is read', async () => {
    const { run, turn, holds } = await started();
    const reader = run.events()[Symbol.asyncIterator]();
    const read: (string | null)[] = [];
    const next = async (): Promise<void> => {
      const { value, done } = await reader.next();
      if (done !== true) read.push(value.event);
    };
    turn.step();
    turn.step();
    for (let frame = 0; frame < 3; frame += 1) await next();
    await soon();
    // The turn could go on, but its reader has not asked for more.
    expect(turn.pulled).toEqual([]);
    await next();
    await next();
    await soon();
    expect([turn.pulled, read.at(-1)]).toEqual([['Hel'], 'response.output_text.delta']);
    expect(holds()).toEqual(['body', 'slot']);
    for (let frame = 5; frame < 12; frame += 1) await next();
    await run.ended;
    expect(read.at(-1)).toBe('done');
    expect(holds()).toEqual([]);
  });

  it('can be read once, and ends with the signal of its exchange', async () => {
    const exchange = new AbortController();
    const { run, holds } = await started(exchange.signal);
    const reading = run.reply();
    expect(() => run.events()).toThrow('only once');
    exchange.abort(new Error('the client left'));
    await expect(reading).rejects.toThrow('the client left');
    await run.ended;
    expect(holds()).toEqual([]);
  });

  it.each([0, 1, 2])('gives back what it holds if its reader leaves after %i frames', async (count) => {
    const { run, holds } = await started();
    const reader = run.events()[Symbol.asyncIterator]();
    for (let frame = 0; frame < count; frame += 1) await reader.next();
    await reader.return?.();
    await run.ended;
    expect(holds()).toEqual([]);
  });

  it('gives back what it holds if its first frame cannot be rendered', async () => {
    const render = (): never => {
      throw new Error('not rendered');
    };
    const { run, holds } = await started(null, { ...api, render });
    expect(() => run.events()).toThrow('not rendered');
    await run.ended;
    expect(holds()).toEqual([]);
    const late = await started(null, {
      ...api,
      render: () => ({ [Symbol.asyncIterator]: () => ({ next: async () => render() }) }),
    });
    await expect(collect(late.run.events())).rejects.toThrow('not rendered');
    await late.run.ended;
    expect(late.holds()).toEqual([]);
  });

  it('gives back what it holds if it is cancelled before it is read', async () => {
    const { run, holds } = await started();
    run.cancel();
    await run.ended;
    expect(holds()).toEqual([]);
  });
});

const entered = (entering: Promise<GatePass>) => {
  const owned = new Owned();
  const pass = enterGate(
    [{ request: {} }] as unknown as readonly [Turn],
    { choices: 1 } as ParsedRequest,
    { caller: 'key', held: { bytes: 1 }, state: noState, trace: NO_TRACE } as unknown as RunCall,
    {
      gate: { ...OPEN_GATE, enter: () => entering },
      owned,
      signal: new AbortController().signal,
      asked: () => 0,
    },
  );
  return { owned, pass };
};

it('leaves when the run ends, even if it ends before the reservation is made', async () => {
  let left = 0;
  const { promise, resolve } = Promise.withResolvers<GatePass>();
  const { owned, pass } = entered(promise);
  owned.release();
  expect(left).toBe(0);
  resolve({ ...FREE_PASS, leave: () => void (left += 1) });
  await pass;
  await expect.poll(() => left).toBe(1);
});

it('may be refused before it is awaited', async () => {
  const { owned, pass } = entered(Promise.reject(new Error('no')));
  // Time for Node to complain about a rejection that is not handled.
  await new Promise((resolve) => setImmediate(resolve));
  owned.release();
  await expect(pass).rejects.toThrow('no');
});
