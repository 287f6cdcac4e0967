import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { Item, Reasoning } from '../../canonical/request/item.ts';
import { findPairingProblem } from '../../canonical/request/item-facts.ts';
import {
  CHATGPT_HISTORY,
  fitHistory,
  placeOf,
  OTHER_HISTORY,
  wholeHistory,
  withoutReasoning,
  type History,
} from './fit-history.ts';
import { toResponseItem } from './inject-items.ts';

const historyOf = (...items: readonly Item[]): History => wholeHistory(items);

const user: Item = { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hi' }] };
const assistant: Item = { kind: 'message', role: 'assistant', parts: [{ kind: 'text', text: 'hello' }] };
const reasoning = (different: Partial<Reasoning> = {}): Item => ({
  kind: 'reasoning',
  id: 'rs_1',
  summary: ['why'],
  encryptedContent: 'opaque',
  ...different,
});
/** As from a client that requested only a summary. */
const summaryOnly: Item = { kind: 'reasoning', id: 'rs_2', summary: ['why'] };
const spoken: Item = { kind: 'reasoning', summary: [], content: ['Thinking aloud.'] };
const call = (callId: string): Item => ({
  kind: 'tool-call',
  tool: 'function',
  callId,
  name: 'f',
  input: '{}',
});
const output = (callId: string): Item => ({ kind: 'tool-output', tool: 'function', callId, output: 'x' });

describe('ids, for a ChatGPT login', () => {
  const withId = (item: Item, id: string): Item => ({ ...item, id });
  const custom: Item = { kind: 'tool-call', tool: 'custom', callId: 'c', name: 'f', input: '' };
  const search = (id?: string): Item => ({
    kind: 'hosted-call',
    ...(id === undefined ? {} : { id }),
    raw: { type: 'web_search_call', ...(id === undefined ? {} : { id }), status: 'completed' },
  });

  it.each([
    ['a message', user, ['msg_1', `msg_${'x'.repeat(60)}`], ['1', 'rs_1', 'msg1', 'msg_a b', 'msg_é']],
    ['a call', call('c'), ['fc_1', 'fc_a-b'], ['call_1', 'ctc_1', `fc_${'x'.repeat(62)}`]],
    ['a custom call', custom, ['ctc_1'], ['fc_1']],
    ['an output', output('c'), ['fco_1'], ['call_1', 'fc_1']],
    ['a compaction', { kind: 'compaction', encryptedContent: 'q' } as const, ['cmp_1'], ['rs_1']],
  ] satisfies [string, Item, string[], string[]][])('of %s are kept or dropped', (_, item, fine, wrong) => {
    const fit = (id: string) => fitHistory(historyOf(withId(item, id)), CHATGPT_HISTORY);
    for (const id of fine) expect(fit(id)).toEqual({ ...historyOf(withId(item, id)), ignored: [] });
    for (const id of wrong) expect(fit(id)).toEqual({ ...historyOf(item), ignored: [] });
  });

  it('of unknown items stay unchanged', () => {
    const odd: Item = { kind: 'opaque', id: 'what ever', raw: { type: 'telepathy', id: 'what ever' } };
    expect(fitHistory(historyOf(odd), CHATGPT_HISTORY).items).toEqual([odd]);
  });

  it('of hosted calls and reasoning are treated the same', () => {
    const history = historyOf(
      search('ws_1'),
      search('zz_1'),
      search(),
      reasoning({ id: 'item_7' }),
      assistant,
    );
    const { id: _, ...withoutId } = reasoning() as Reasoning;
    expect(fitHistory(history, CHATGPT_HISTORY).items.map(toResponseItem)).toEqual(
      [search('ws_1'), search(), search(), withoutId, assistant].map(toResponseItem),
    );
  });

  it('are not used twice', () => {
    const twice = historyOf(withId(user, 'msg_1'), withId(assistant, 'msg_1'));
    expect(fitHistory(twice, CHATGPT_HISTORY).items).toEqual([withId(user, 'msg_1'), assistant]);
  });

  it('of calls are shortened, equally on a call and its output', () => {
    const [one, two] = [`${'a'.repeat(80)}1`, `${'a'.repeat(80)}2`];
    const fitted = fitHistory(
      historyOf(call(one), call(two), call('call_3'), output(two), output(one), output('call_3')),
      CHATGPT_HISTORY,
    );
    const ids = fitted.items.map((item) => ('callId' in item ? (item.callId ?? '') : ''));
    expect(ids).toEqual([ids[0], ids[1], 'call_3', ids[1], ids[0], 'call_3']);
    expect(ids[0]).toMatch(/^a{47}_[0-9a-f]{16}$/);
    expect(ids[1]).not.toBe(ids[0]);
    expect(fitted.ignored).toEqual([]);
    // In a later turn too, whatever else the conversation contains.
    const later = fitHistory(historyOf(call('x'), output('x'), call(two), output(two)), CHATGPT_HISTORY);
    expect(later.items[2]).toEqual(call(String(ids[1])));
  });

  it("of calls never collide with another call's", () => {
    const long = '😀'.repeat(40);
    const [shortened] = fitHistory(historyOf(call(long)), CHATGPT_HISTORY).items;
    if (shortened?.kind !== 'tool-call') throw new Error('the call is gone');
    expect(shortened.callId.isWellFormed()).toBe(true);
    const fitted = fitHistory(historyOf(call(long), call(shortened.callId)), CHATGPT_HISTORY);
    expect(fitted.items[1]).toEqual(shortened);
    expect(fitted.items[0]).not.toEqual(shortened);
  });

  it('of the backend leave the conversation as it is', () => {
    const history = historyOf(withId(user, 'msg_1'), call('call_1'), output('call_1'), assistant);
    expect(fitHistory(history, CHATGPT_HISTORY).items).toBe(history.items);
  });

  it('of other backends stay unchanged', () => {
    const history = historyOf(withId(user, 'x'), call('y'.repeat(100)), output('y'.repeat(100)));
    expect(fitHistory(history, OTHER_HISTORY)).toEqual({ ...history, ignored: [] });
  });
});

describe('reasoning', () => {
  it.each([
    ['with encrypted content stays', [user, reasoning(), assistant], [0, 1, 2], [0, 1, 2]],
    ['of which only a summary is left goes', [user, summaryOnly, assistant], [0, 2], [0, 2]],
    ['with nothing in it goes', [user, reasoning({ encryptedContent: '' }), assistant], [0, 2], [0, 2]],
    ['in plain words is for those who read it', [user, spoken, assistant], [0, 2], [0, 1, 2]],
    ['in front of a call stays', [user, reasoning(), call('c'), output('c')], [0, 1, 2, 3], [0, 1, 2, 3]],
    ['in a row stays', [user, reasoning(), reasoning({ id: 'rs_2' }), assistant], [0, 1, 2, 3], [0, 1, 2, 3]],
    ['that led to nothing goes', [user, reasoning(), user], [0, 2], [0, 1, 2]],
    ['at the end goes', [user, assistant, reasoning()], [0, 1], [0, 1, 2]],
    ['behind its message goes', [user, assistant, reasoning(), user], [0, 1, 3], [0, 1, 2, 3]],
  ] satisfies [string, Item[], number[], number[]][])('%s', (_, items, forChatgpt, forOthers) => {
    const history = historyOf(...items);
    const only = (kept: readonly number[]) => ({
      items: items.filter((__, index) => kept.includes(index)),
      places: kept.length === items.length ? null : kept,
      ignored: [...items.keys()].filter((index) => !kept.includes(index)),
    });
    expect(fitHistory(history, CHATGPT_HISTORY)).toEqual(only(forChatgpt));
    expect(fitHistory(history, OTHER_HISTORY)).toEqual(only(forOthers));
  });

  it('may leave nothing', () => {
    expect(fitHistory(historyOf(summaryOnly), OTHER_HISTORY)).toEqual({
      items: [],
      places: [],
      ignored: [0],
    });
    expect(fitHistory(historyOf(), CHATGPT_HISTORY)).toEqual({ ...historyOf(), ignored: [] });
  });
});

describe('a second attempt', () => {
  const all = (): boolean => true;

  it('drops what could not be decrypted, and reports it', () => {
    expect(withoutReasoning(historyOf(user, reasoning(), spoken, assistant), all)).toEqual({
      items: [user, spoken, assistant],
      places: [0, 2, 3],
      ignored: [1],
    });
  });

  it('is not made if it would change nothing or leave nothing', () => {
    expect(withoutReasoning(historyOf(user, spoken, assistant), all)).toBe(null);
    expect(withoutReasoning(historyOf(reasoning()), all)).toBe(null);
  });
});

describe('reasoning of another account', () => {
  const isForeign = ({ origin }: Reasoning): boolean => origin !== 'here';

  it('is dropped, and reported unless this server stored it', () => {
    const items = [
      user,
      reasoning(),
      reasoning({ origin: 'elsewhere' }),
      reasoning({ origin: 'here' }),
      assistant,
    ];
    expect(withoutReasoning(historyOf(...items), isForeign)).toEqual({
      items: [user, reasoning({ origin: 'here' }), assistant],
      places: [0, 3, 4],
      ignored: [1],
    });
  });

  it('stays if it is not encrypted, because any model can read it', () => {
    expect(withoutReasoning(historyOf(user, spoken, assistant), isForeign)).toBe(null);
  });
});

describe('any client history', () => {
  const id = fc.option(
    fc.constantFrom('msg_1', 'rs_1', 'fc_1', 'fco_1', 'x', 'msg_2', 'rs_2', `rs_${'y'.repeat(70)}`),
    {
      nil: undefined,
    },
  );
  const callId = fc.constantFrom('a', 'b', 'c'.repeat(64), 'c'.repeat(65), `${'c'.repeat(70)}d`);
  const one: fc.Arbitrary<readonly Item[]> = fc
    .tuple(
      id,
      id,
      callId,
      fc.constantFrom<('message' | 'answer' | 'reasoning' | 'summary' | 'call')[]>(
        'message',
        'answer',
        'reasoning',
        'summary',
        'call',
      ),
    )
    .map(([first, second, called, kind]) => {
      const named = (item: Item, given: string | undefined): Item =>
        given === undefined ? item : { ...item, id: given };
      if (kind === 'call') return [named(call(called), first), named(output(called), second)];
      if (kind === 'message' || kind === 'answer')
        return [named(kind === 'message' ? user : assistant, first)];
      return [
        named(
          { kind: 'reasoning', summary: [], ...(kind === 'summary' ? {} : { encryptedContent: 'e' }) },
          first,
        ),
      ];
    });
  const histories = fc
    .array(one, { maxLength: 8 })
    .map((parts) => historyOf(user, ...parts.flat()))
    .filter(({ items }) => findPairingProblem(items) === null);

  it('has pairs, unique valid ids, and nothing left to fit', () => {
    fc.assert(
      fc.property(histories, (history) => {
        const { ignored, ...fitted } = fitHistory(history, CHATGPT_HISTORY);
        expect(findPairingProblem(fitted.items)).toBe(null);
        const ids = fitted.items.flatMap((item) => ('id' in item && item.id !== undefined ? [item.id] : []));
        expect(new Set(ids).size).toBe(ids.length);
        const callIds = fitted.items.map((item) => ('callId' in item ? (item.callId ?? '') : ''));
        expect([...ids, ...callIds].filter((text) => text.length > 64)).toEqual([]);
        const places = fitted.items.map((_, index) => placeOf(fitted, index));
        expect([...places, ...ignored].toSorted((a, b) => Number(a) - Number(b))).toEqual([
          ...history.items.keys(),
        ]);
        expect(fitHistory(fitted, CHATGPT_HISTORY)).toEqual({ ...fitted, ignored: [] });
      }),
    );
  });
});
