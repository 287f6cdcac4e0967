import { describe, expect, it } from 'vitest';

import { planOf, throughStep } from '../../../test/support/plan.ts';
import { END, messageTold } from '../../../test/support/item-events.ts';
import { collect, emit } from '../../../test/support/turn-events.ts';
import { failure } from '../../canonical/failure/failure.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { countEnds } from './count-ends.ts';

const counter = {
  tokenizer: { countTexts: async (texts: readonly string[]) => texts.join('').length },
  clock: { now: () => 0 },
  stopEarly: null,
};
const { signal } = new AbortController();
const told = messageTold('m', 'abc');
const counted = {
  inputTokens: 2 + 4 + 2,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 3,
  reasoningTokens: 0,
  totalTokens: 11,
  isCounted: true,
} as const;
const cut: TurnEvent = {
  type: 'turn-ended',
  outcome: { kind: 'completed' },
  usage: null,
  isEndedHere: true,
  at: 1,
};

const ended = async (end: TurnEvent, more: object = {}): Promise<TurnEvent | undefined> => {
  const plan = throughStep(
    countEnds,
    counter,
    planOf(() => emit([...told, end])),
    { maxOutputTokens: 100, ...more },
  );
  const events = await collect(plan.run(signal));
  expect(events.slice(0, -1)).toEqual(told);
  return events.at(-1);
};

describe('countEnds', () => {
  it('counts what this server ended', async () => {
    expect(await ended(cut)).toEqual({ ...cut, usage: counted });
  });

  it('adds the count to what earlier attempts are known to have used', async () => {
    const { isCounted: _, ...exact } = counted;
    expect(await ended({ ...cut, usage: exact })).toEqual({
      ...cut,
      usage: { ...counted, inputTokens: 16, outputTokens: 6, totalTokens: 22 },
    });
  });

  it.each<[what: string, end: TurnEvent]>([
    ['ended upstream, without numbers', { ...END, usage: null }],
    ['failed', { ...cut, outcome: { kind: 'failed', failure: failure('server_error') } }],
  ])('leaves an answer alone that %s', async (_, end) => {
    expect(await ended(end)).toEqual(end);
  });

  it('counts what ended upstream without numbers if the API needs them', async () => {
    const needs = { needsUsage: true, maxOutputTokens: null };
    const end: TurnEvent = { ...END, usage: null };
    expect(await ended(end, needs)).toEqual({ ...end, usage: counted });
    const { isCounted: _, ...exact } = counted;
    const known: TurnEvent = { ...END, usage: exact };
    expect(await ended(known, needs)).toEqual(known);
  });

  it('interrupts the turn before it counts', async () => {
    const order: string[] = [];
    async function* source(): AsyncGenerator<TurnEvent> {
      try {
        yield cut;
      } finally {
        order.push('left');
      }
    }
    const tokenizer = {
      async countTexts() {
        order.push('counted');
        return 1;
      },
    };
    await collect(
      throughStep(countEnds, { ...counter, tokenizer }, planOf(source), { stop: ['x'] }).run(signal),
    );
    expect(order[0]).toBe('left');
  });

  it('leaves a turn alone that this server does not end', () => {
    const plan = planOf(() => emit(told));
    expect(throughStep(countEnds, counter, plan)).toBe(plan);
    const stopEarly = (events: AsyncIterable<TurnEvent>) => events;
    expect(throughStep(countEnds, { ...counter, stopEarly }, plan)).not.toBe(plan);
  });
});
