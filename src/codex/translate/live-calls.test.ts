import { describe, expect, it } from 'vitest';

import { LiveCalls, type CallEvent, type Shown } from './live-calls.ts';
import type { WireEvent } from './wire-report.ts';

const started = (itemId: string, outputIndex: number, name = 'f'): Extract<WireEvent, { name: string }> => ({
  kind: 'call-started',
  outputIndex,
  itemId,
  callId: `call-${itemId}`,
  name,
});
const delta = (itemId: string, text: string): Extract<Shown, { delta: string }> => ({
  kind: 'call-delta',
  itemId,
  delta: text,
});
const all = (): LiveCalls => new LiveCalls(() => true);
const takeAll = (calls: LiveCalls, events: readonly CallEvent[]): Shown[] =>
  events.flatMap((event) => calls.take(event));

describe('calls that are being written', () => {
  it('are shown at once when nothing is in front of them', () => {
    const calls = all();
    expect(takeAll(calls, [started('a', 0), delta('a', '{'), delta('a', '}')])).toEqual([
      started('a', 0),
      delta('a', '{'),
      delta('a', '}'),
    ]);
    expect(calls.isShown('a')).toBe(true);
  });

  it('wait for what is in front of them, with the arguments they have until then', () => {
    const calls = all();
    expect(takeAll(calls, [started('a', 2), delta('a', '{'), delta('a', '"x"')])).toEqual([]);
    expect(calls.isShown('a')).toBe(false);
    expect(calls.itemDone('rs_1')).toEqual([]);
    expect(calls.itemDone('msg_1')).toEqual([started('a', 2), delta('a', '{"x"')]);
    expect(calls.take(delta('a', '}'))).toEqual([delta('a', '}')]);
  });

  it('come one after the other', () => {
    const calls = all();
    expect(takeAll(calls, [started('a', 0), delta('a', '1'), started('b', 1), delta('b', '2')])).toEqual([
      started('a', 0),
      delta('a', '1'),
    ]);
    expect(calls.size).toBe(2);
    expect(calls.itemDone('a')).toEqual([started('b', 1), delta('b', '2')]);
  });

  it('that nobody wants are not kept', () => {
    const calls = new LiveCalls(({ name }) => name === 'f');
    expect(takeAll(calls, [started('a', 0, 'g'), delta('a', '{}'), started('b', 1)])).toEqual([]);
    expect(calls.itemDone('a')).toEqual([started('b', 1)]);
  });

  it('without an id of their own count, but are not shown', () => {
    const calls = all();
    expect(takeAll(calls, [started('', 0), delta('', '{}')])).toEqual([]);
    expect(calls.size).toBe(1);
    expect(calls.itemDone('fc_made_up')).toEqual([]);
  });

  it('with the same id do not get the arguments of one another', () => {
    const calls = all();
    const shown = takeAll(calls, [
      started('a', 0),
      delta('a', '1'),
      { kind: 'call-written', itemId: 'a' },
      started('a', 1),
      delta('a', '2'),
    ]);
    expect(shown).toEqual([started('a', 0), delta('a', '1')]);
    const unwritten = all();
    expect(takeAll(unwritten, [started('a', 0), started('a', 1), delta('a', '2')])).toEqual([
      started('a', 0),
    ]);
  });

  it('of the next answer wait until this one is over', () => {
    const calls = all();
    const first: readonly CallEvent[] = [{ kind: 'answer-started' }, started('a', 0, 'unknown')];
    expect(takeAll(calls, first)).toEqual([started('a', 0, 'unknown')]);
    const second: readonly CallEvent[] = [
      { kind: 'answer-started' },
      started('b', 0),
      delta('b', '{}'),
      { kind: 'call-written', itemId: 'b' },
    ];
    expect(takeAll(calls, second)).toEqual([]);
    expect(calls.itemDone('a')).toEqual([]);
    expect(calls.answerDone()).toEqual([started('b', 0), delta('b', '{}')]);
    expect(calls.answerDone()).toEqual([]);
    expect(calls.size).toBe(0);
  });
});
