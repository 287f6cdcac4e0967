import { afterAll, describe, expect, it } from 'vitest';

import { turnDeps } from '../compose/edge.ts';
import { loadConfig } from '../config/load.ts';
import { NO_TRACE } from '../canonical/context/trace.ts';
import { createModelNames } from '../canonical/models/model-names.ts';
import type { TurnEvent } from '../canonical/events/turn-event.ts';
import { unlessAborted } from '../kit/async/abort.ts';
import { createLogger } from '../observe/log.ts';
import { createMetrics } from '../observe/metrics.ts';
import { responsesApi } from '../openai/responses/api.ts';
import { dialectSettings } from '../../test/support/dialect-settings.ts';
import { modelList } from '../../test/support/models.ts';
import { planOf } from '../../test/support/plan.ts';
import { collect, fixedAmbient } from '../../test/support/turn-events.ts';
import { createFormatChecks } from './format/check-format.ts';
import type { HeldBytes } from './body-budget.ts';
import { noState } from '../../test/support/turn-state.ts';
import { NOTHING_LOADED, type Frame } from './api.ts';
import type { KeepLimit, Run } from './run.ts';
import { startRun } from './start-run.ts';

const api = responsesApi({
  layout: 'natural',
  usagePolicy: 'exact',
  ignoreClientPrompt: false,
  parallelCalls: true,
  omitsTools: () => false,
  stores: false,
  dialect: dialectSettings(),
});
const formats = createFormatChecks({ clock: fixedAmbient().clock, onUnchecked() {} });
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

interface Started {
  readonly run: Run;
  readonly turn: ManualTurn;
  /** What the run still holds. */
  readonly holds: () => readonly string[];
}

const started = async (keep: KeepLimit | null, signal: AbortSignal | null = null): Promise<Started> => {
  const metrics = createMetrics();
  const turn = new ManualTurn();
  const ambient = fixedAmbient();
  const holds = new Set(['body']);
  const held: HeldBytes = {
    caller: 'key',
    bytes: 10,
    start: async () => {},
    grow() {},
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
  const run = await startRun(
    api,
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
      keep,
    },
    {
      ...turnDeps(loadConfig({ PROXY_STATE_DIR: '/nowhere' }), logger, metrics, []),
      ambient,
      engine: { plan: () => planOf((own) => turn.events(own)) },
      tokens: { countTexts: async () => 0 },
      sideTurns: () => null,
      formats,
      admission: {
        async enter() {
          holds.add('slot');
          return [{ leave: () => void holds.delete('slot') }];
        },
      },
    },
  );
  return { run, turn, holds: () => [...holds] };
};

const soon = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

const names = (frames: readonly Frame[]): readonly (string | null)[] => frames.map(({ event }) => event);

const KEPT = { maxBytes: 1_000_000 };

describe('a kept run', () => {
  it('runs to its end without any client and has its reply', async () => {
    const { run, turn, holds } = await started(KEPT);
    expect(holds()).toEqual(['body', 'slot']);
    turn.step();
    turn.step();
    await run.ended;
    expect(holds()).toEqual([]);
    expect(await run.reply()).toMatchObject([
      { outcome: { kind: 'completed' }, items: [{ parts: [{ text: 'Hello' }] }] },
    ]);
  });

  it('gives every reader the same frames, from the start or after a number, during the run and later', async () => {
    const { run, turn } = await started(KEPT);
    const live = collect(run.events());
    turn.step();
    await soon();
    const late = collect(run.events());
    const rest = collect(run.events(4));
    turn.step();
    const frames = await live;
    expect(names(frames)).toEqual([
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
    ]);
    expect(await late).toEqual(frames);
    expect(await rest).toEqual(frames.slice(5));
    await run.ended;
    expect(await collect(run.events())).toEqual(frames);
    expect(await collect(run.events(8))).toEqual(frames.slice(9));
    // What was stored can be rendered again: the meta is data.
    expect(JSON.parse(JSON.stringify(run.meta))).toEqual(run.meta);
  });

  it('keeps no more than its limit, and still has its reply', async () => {
    const { run, turn } = await started({ maxBytes: 500 });
    const reading = collect(run.events()).catch((error: unknown) => error);
    turn.step();
    turn.step();
    expect(await reading).toMatchObject({ failure: { code: 'response_not_found' } });
    expect(await run.reply()).toMatchObject([{ outcome: { kind: 'completed' } }]);
  });

  it('ends when it is cancelled', async () => {
    const { run, holds } = await started(KEPT);
    run.cancel(new Error('no longer needed'));
    await run.ended;
    expect(holds()).toEqual([]);
    await expect(run.reply()).rejects.toThrow('no longer needed');
  });
});

describe('a foreground run', () => {
  it('runs no faster than it is read', async () => {
    const { run, turn, holds } = await started(null);
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
    const { run, holds } = await started(null, exchange.signal);
    const reading = run.reply();
    expect(() => run.events()).toThrow('only once');
    exchange.abort(new Error('the client left'));
    await expect(reading).rejects.toThrow('the client left');
    await run.ended;
    expect(holds()).toEqual([]);
  });

  it('gives back what it holds if it is cancelled before it is read', async () => {
    const { run, holds } = await started(null);
    run.cancel();
    await run.ended;
    expect(holds()).toEqual([]);
  });
});
