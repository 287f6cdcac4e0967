import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { planOf, throughStep } from '../../../test/support/plan.ts';
import { ACCEPTED, END, messageStarted, textDelta } from '../../../test/support/item-events.ts';
import { fixedAmbient, collect, emit } from '../../../test/support/turn-events.ts';
import { failure, GatewayError } from '../../canonical/failure/failure.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { ModelBudget } from '../../canonical/context/model-budget.ts';
import type { Produced } from '../../canonical/request/item.ts';
import type { Plan } from '../engine.ts';
import { limitTime, endWithinBudget } from './turn-limits.ts';

describe('limitTime', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const started = messageStarted('m');
  const said = textDelta('m', 'a');
  const late: TurnEvent = { ...END, outcome: { kind: 'failed', failure: failure('turn_timeout') } };

  /** Says these, and then nothing until it is aborted. */
  const saying = (...events: readonly TurnEvent[]): Plan =>
    planOf(
      async function* (signal, onSettled) {
        onSettled?.();
        yield* events;
        await new Promise((resolve) => {
          signal.addEventListener('abort', resolve);
        });
        signal.throwIfAborted();
      },
      { ignored: ['user'] },
    );

  const { clock } = fixedAmbient();

  const limited = (turnTimeoutMs: number, plan: Plan): Plan =>
    throughStep(limitTime, { turnTimeoutMs, clock }, plan);

  const run = (plan: Plan, signal = new AbortController().signal) => {
    const events: TurnEvent[] = [];
    const settled = vi.fn<() => void>();
    const ended = (async () => {
      for await (const event of limited(1_000, plan).run(signal, settled)) events.push(event);
    })();
    ended.catch(() => {});
    return { events, ended, settled };
  };

  it('ends a turn that has sent nothing', async () => {
    const { events, ended } = run(saying());
    await vi.advanceTimersByTimeAsync(999);
    expect(events).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    await ended;
    expect(events).toEqual([late]);
  });

  it('ends a turn during its answer, with its open items', async () => {
    const { events, ended } = run(saying(ACCEPTED, started, said));
    await vi.advanceTimersByTimeAsync(1_000);
    await ended;
    expect(events).toEqual([
      ACCEPTED,
      started,
      said,
      {
        type: 'item-ended',
        item: {
          kind: 'message',
          id: 'm',
          role: 'assistant',
          parts: [{ kind: 'text', text: 'a' }],
          status: 'incomplete',
        },
      },
      late,
    ]);
  });

  it('does not change turns that end in time', async () => {
    const { events, ended, settled } = run(saying(ACCEPTED, END));
    await vi.advanceTimersByTimeAsync(1_000);
    await ended;
    expect(events).toEqual([ACCEPTED, END]);
    expect(settled).toHaveBeenCalledOnce();
  });

  it('is not reported if the client has left', async () => {
    const gone = new AbortController();
    const { events, ended } = run(saying(ACCEPTED), gone.signal);
    await vi.advanceTimersByTimeAsync(10);
    gone.abort(new Error('gone'));
    await expect(ended).rejects.toThrow('gone');
    expect([events, vi.getTimerCount()]).toEqual([[ACCEPTED], 0]);
  });

  it('passes on other errors', async () => {
    const broken = planOf(async function* () {
      yield ACCEPTED;
      throw new Error('broken');
    });
    const { events, ended } = run(broken);
    await expect(ended).rejects.toThrow('broken');
    expect(events).toEqual([ACCEPTED]);
  });

  it('of 0 means no limit', () => {
    const plan = saying();
    expect(limited(0, plan)).toBe(plan);
    expect(limited(1, plan).ignored).toEqual(['user']);
  });
});

describe('endWithinBudget', () => {
  const exceeded = new ModelBudget(1).exceeded();
  const message: Produced = { kind: 'message', id: 'msg_1', role: 'assistant', parts: [] };
  const list: Produced = { kind: 'opaque', id: 'mcpl_1', raw: { type: 'mcp_list_tools' } };
  const failedWith = (failed = exceeded): TurnEvent => ({
    type: 'turn-ended',
    outcome: { kind: 'failed', failure: failed },
    usage: null,
    at: 7,
  });
  const INCOMPLETE: TurnEvent = {
    type: 'turn-ended',
    outcome: { kind: 'incomplete', reason: 'max_model_requests' },
    usage: null,
    at: 7,
  };
  const said = (item: Produced): readonly TurnEvent[] => [
    { type: 'item-started', item },
    { type: 'item-ended', item },
  ];
  const run = (events: AsyncIterable<TurnEvent>) =>
    collect(
      throughStep(
        endWithinBudget,
        { clock: { now: () => 7 } },
        planOf(() => events),
      ).run(new AbortController().signal),
    );

  async function* thrown(events: readonly TurnEvent[]): AsyncGenerator<TurnEvent> {
    yield* events;
    throw new GatewayError(exceeded);
  }

  it('keeps what was produced before the budget was spent', async () => {
    expect(await run(emit([...said(message), failedWith()]))).toEqual([...said(message), INCOMPLETE]);
    expect(await run(thrown(said(message)))).toEqual([...said(message), INCOMPLETE]);
  });

  it('fails a turn that has produced nothing, or fails for another reason', async () => {
    expect(await run(emit([...said(list), failedWith()]))).toEqual([...said(list), failedWith()]);
    const other = failedWith(failure('upstream_error'));
    expect(await run(emit([...said(message), other]))).toEqual([...said(message), other]);
    await expect(run(thrown([]))).rejects.toMatchObject({ failure: exceeded });
  });
});
