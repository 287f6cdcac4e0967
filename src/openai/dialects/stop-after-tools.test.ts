import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { fold } from '../../canonical/events/accumulate.ts';
import { isMessage, isToolCall, wordsOf } from '../../canonical/request/item.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { callTold, END, messageTold } from '../../../test/support/item-events.ts';
import { emit, fixedAmbient } from '../../../test/support/turn-events.ts';
import { stopAfterTools, type StopRules } from './stop-after-tools.ts';

const { clock } = fixedAmbient();
const NONE: StopRules = { callsAre: 'items', maxCalls: null, graceMs: null, dropsTail: false };

const call = (id: string): readonly TurnEvent[] => callTold(id, '{}');

const emitted = async (events: AsyncIterable<TurnEvent>, rules: Partial<StopRules>) => {
  let left = 0;
  const cancelTurn = (): void => void (left += 1);
  const { items, outcome } = await fold(stopAfterTools(events, { ...NONE, ...rules }, { clock, cancelTurn }));
  const shown = items.map((item) => {
    if (isMessage(item)) return wordsOf(item, 'text');
    return isToolCall(item) ? item.id : item.kind;
  });
  return { shown, outcome: outcome.kind, left };
};

describe('an answer with calls', () => {
  const events = [
    ...messageTold('m', 'One.'),
    ...call('f'),
    ...call('g'),
    ...messageTold('n', 'Two.'),
    ...call('h'),
    END,
  ];

  it('ends after the maximum number of calls', async () => {
    expect(await emitted(emit(events), { maxCalls: 1 })).toEqual({
      shown: ['One.', 'f'],
      outcome: 'tool-calls',
      left: 1,
    });
    expect((await emitted(emit(events), { maxCalls: 3 })).shown).toEqual(['One.', 'f', 'g', 'Two.', 'h']);
    expect(await emitted(emit(events), { maxCalls: 9 })).toMatchObject({ outcome: 'completed', left: 0 });
  });

  it('drops a call over the limit completely, even if it started early', async () => {
    const [begin, ...rest] = call('f');
    if (begin === undefined) throw new Error('a call begins');
    const mixed = [begin, ...call('g'), ...rest, END];
    expect((await emitted(emit(mixed), { maxCalls: 1 })).shown).toEqual(['f']);
  });

  it('drops the text after the first call', async () => {
    expect(await emitted(emit(events), { dropsTail: true })).toEqual({
      shown: ['One.', 'f', 'g', 'h'],
      outcome: 'completed',
      left: 0,
    });
    const [begin, first, second, ended] = messageTold('m', 'in time', ' too late');
    if (!begin || !first || !second || !ended) throw new Error('a message of two pieces');
    const late = [begin, first, ...call('f'), second, ended, END];
    expect((await emitted(emit(late), { dropsTail: true })).shown).toEqual(['in time', 'f']);
  });
});

describe('an answer with blocks', () => {
  const F = '<use_tool><name>f</name></use_tool>';
  const G = '<use_tool><name>g</name></use_tool>';
  const blocks = (rules: Partial<StopRules>, ...deltas: readonly string[]) =>
    emitted(emit([...messageTold('m', ...deltas), END]), { ...rules, callsAre: 'blocks' });

  it('ends after the first block, at any split into deltas', async () => {
    const text = `Look: ${F} and ${G} more`;
    const first = { shown: [`Look: ${F}`], outcome: 'completed', left: 1 };
    expect(await blocks({ maxCalls: 1 }, text)).toEqual(first);
    expect(await blocks({ maxCalls: 1 }, ...text.split(''))).toEqual(first);
    expect((await blocks({ maxCalls: 2 }, ...text.split(''))).shown).toEqual([`Look: ${F} and ${G}`]);
  });

  it('drops the text after the first block, and keeps the other blocks', async () => {
    const text = `Look: ${F} and <use_too ${G}${G} more`;
    const kept = [`Look: ${F}\n${G}\n${G}`];
    expect((await blocks({ dropsTail: true }, text)).shown).toEqual(kept);
    expect((await blocks({ dropsTail: true }, ...text.split(''))).shown).toEqual(kept);
  });

  it('counts an unclosed block', async () => {
    const turn = [...messageTold('m', '<use_tool><name>f'), ...messageTold('n', 'more'), END];
    expect(await emitted(emit(turn), { callsAre: 'blocks', maxCalls: 1 })).toEqual({
      shown: ['<use_tool><name>f'],
      outcome: 'completed',
      left: 1,
    });
  });
});

describe('a burst of calls', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** Emits the first events, waits, emits the second, then never ends. */
  async function* slowly(...steps: readonly (readonly TurnEvent[] | number)[]): AsyncGenerator<TurnEvent> {
    for (const step of steps) {
      if (typeof step !== 'number') yield* step;
      else await new Promise((resolve) => void setTimeout(resolve, step));
    }
  }

  it('ends if no other call starts in time, and cancels the silent turn', async () => {
    const [begin, rest] = [call('g').slice(0, 1), call('g').slice(1)];
    let left = 0;
    const silent = Promise.withResolvers<void>();
    async function* turn(): AsyncGenerator<TurnEvent> {
      // An open call is waited for without a limit.
      yield* slowly(call('f'), 299, begin, 5_000, rest, 100, messageTold('m', 'tail'));
      await silent.promise;
      yield* call('h');
    }
    const cancelTurn = (): void => {
      left += 1;
      silent.resolve();
    };
    const reply = fold(stopAfterTools(turn(), { ...NONE, graceMs: 300 }, { clock, cancelTurn }));
    await vi.advanceTimersByTimeAsync(5_598);
    expect(left).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    const { items, outcome } = await reply;
    expect(items.map(({ id }) => id)).toEqual(['f', 'g', 'm']);
    expect(outcome.kind).toBe('tool-calls');
    expect(left).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('ends with the turn if the turn ends first', async () => {
    expect(await emitted(slowly(call('f'), [END]), { graceMs: 300 })).toMatchObject({
      outcome: 'completed',
      left: 0,
    });
    expect(vi.getTimerCount()).toBe(0);
  });
});
