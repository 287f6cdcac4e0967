import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { Item, Produced } from '../../canonical/request/item.ts';
import { placeOf } from '../../codex/translate/fit-history.ts';
import { isJsonObject } from '../../kit/json/json.ts';
import { callingAnswerOf, restoreReasoning, hasSameArguments } from './restore-reasoning.ts';

const thought = (id: string): Produced => ({
  kind: 'reasoning',
  id,
  summary: [],
  encryptedContent: `sealed ${id}`,
});
const said = (text: string): Produced => ({
  kind: 'message',
  id: `msg_${text}`,
  role: 'assistant',
  parts: [{ kind: 'text', text }],
});
const call = (callId: string): Produced => ({
  kind: 'tool-call',
  id: `fc_${callId}`,
  tool: 'function',
  callId,
  name: 'look',
  input: '{}',
});
const search = (id: string): Produced => ({ kind: 'hosted-call', id, raw: { type: 'web_search_call' } });
const output = (callId: string): Item => ({ kind: 'tool-output', tool: 'function', callId, output: 'found' });
const user: Item = { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'go' }] };

/** An item in a word. */
const nameOf = (item: Item): string => {
  if (item.kind === 'message') return item.role === 'user' ? 'user' : 'said';
  if (item.kind === 'reasoning') return `${item.id}${item.encryptedContent === undefined ? '?' : ''}`;
  return 'callId' in item
    ? `${item.kind === 'tool-call' ? 'call' : 'output'} ${item.callId}`
    : (item.id ?? '');
};

/** What becomes of a conversation if this was the answer that made its calls. */
const restored = (answer: readonly Produced[], items: readonly Item[]): string => {
  const remembered = callingAnswerOf(answer, false);
  const history = restoreReasoning(items, ({ callId }) =>
    remembered?.calls.has(callId) === true ? remembered : null,
  );
  const all = history.items;
  const places = all.map((_, at) => placeOf(history, at));
  expect(places.filter((place) => place !== null)).toEqual(items.map((_, index) => index));
  return all.map((item, at) => (places[at] === null ? `+${nameOf(item)}` : nameOf(item))).join(', ');
};

describe('reasoning that a client did not send back', () => {
  it('goes before its call', () => {
    expect(restored([thought('r'), call('a')], [user, call('a'), output('a')])).toBe(
      'user, +r, call a, output a',
    );
  });

  it('goes before the message that followed it, if the client sent that', () => {
    const answer = [thought('r'), said('Let me see.'), call('a')];
    expect(restored(answer, [user, said('Let me see.'), call('a'), output('a')])).toBe(
      'user, +r, said, call a, output a',
    );
    expect(restored(answer, [user, call('a'), output('a')])).toBe('user, +r, call a, output a');
  });

  it('keeps its places when there is more of it', () => {
    const answer = [thought('r'), said('One.'), thought('s'), call('a'), thought('t'), call('b')];
    expect(restored(answer, [user, said('One.'), call('a'), call('b'), output('b'), output('a')])).toBe(
      'user, +r, said, +s, call a, +t, call b, output b, output a',
    );
    expect(restored([thought('r'), thought('s'), call('a')], [call('a'), output('a')])).toBe(
      '+r, +s, call a, output a',
    );
  });

  it('is restored once for parallel calls, even if they are apart or one is missing', () => {
    const answer = [thought('r'), call('a'), call('b')];
    expect(restored(answer, [user, call('a'), output('a'), call('b'), output('b')])).toBe(
      'user, +r, call a, output a, call b, output b',
    );
    expect(restored(answer, [user, call('b'), output('b')])).toBe('user, +r, call b, output b');
    expect(restored(answer, [call('b'), call('a')])).toBe('+r, call b, call a');
  });

  it('finds hosted calls by their ids, and skips those that a client cannot send', () => {
    const answer = [thought('r'), search('ws_1'), thought('s'), said('Now.'), call('a')];
    expect(restored(answer, [user, search('ws_1'), said('Now.'), call('a')])).toBe(
      'user, +r, ws_1, +s, said, call a',
    );
    expect(restored(answer, [user, said('Now.'), call('a')])).toBe('user, +r, +s, said, call a');
  });

  it('is not added if the client sent it', () => {
    const answer = [thought('r'), call('a'), call('b')];
    const own: Item = { ...thought('x') };
    expect(restored(answer, [user, own, call('a'), output('a'), call('b'), output('b')])).toBe(
      'user, x, call a, output a, call b, output b',
    );
  });

  it('replaces a summary without content', () => {
    const summary: Item = { kind: 'reasoning', id: 'r', summary: ['why'] };
    expect(restored([thought('r'), call('a')], [user, summary, call('a'), output('a')])).toBe(
      'user, r, call a, output a',
    );
    expect(restored([thought('r'), call('a')], [user, { ...summary, id: 'q' }, call('a')])).toBe(
      'user, q?, +r, call a',
    );
  });

  it('leaves a conversation as it is if there is nothing to restore', () => {
    for (const items of [[user], [user, call('a'), output('a')]]) {
      expect(restoreReasoning(items, () => null).items).toBe(items);
    }
  });

  it('is not remembered of an answer without reasoning or without a call', () => {
    expect([callingAnswerOf([call('a')], false), callingAnswerOf([thought('r'), said('Hi.')], true)]).toEqual(
      [null, null],
    );
    expect(callingAnswerOf([{ kind: 'reasoning', id: 'r', summary: ['why'] }, call('a')], false)).toBe(null);
  });

  it('never changes what the client sent, or its order, and is restored at most once', () => {
    const some = fc.constantFrom('r', 's', 't');
    const produced = fc.oneof(
      some.map(thought),
      some.map(call),
      fc.constant(said('Hm.')),
      fc.constant(search('ws_1')),
    );
    const item = fc.oneof<fc.Arbitrary<Item>[]>(produced, some.map(output), fc.constant(user));
    fc.assert(
      fc.property(fc.array(produced), fc.array(item), (answer, items) => {
        const remembered = callingAnswerOf(answer, false);
        const history = restoreReasoning(items, () => remembered);
        const isPut = (_: Item, at: number): boolean => placeOf(history, at) === null;
        expect(history.items.filter((one, at) => !isPut(one, at))).toEqual(items);
        const put = history.items.filter(isPut);
        const known = (remembered?.steps ?? []).flatMap((step) =>
          step.kind === 'reasoning' ? [step.reasoning] : [],
        );
        expect(put.length).toBeLessThanOrEqual(known.length);
        expect(put).toEqual(known.slice(0, put.length));
      }),
    );
  });
});

describe('arguments that a client sent back as values', () => {
  const withInput = (item: Item, input: string): Item => ({ ...item, input }) as Item;
  const own = '{ "path": "a.ts", "edits": [1.0] }';
  const answer = [thought('r'), withInput(call('a'), own) as Produced];
  const sentAs = (input: string, ...before: readonly Item[]): readonly Item[] => [
    user,
    ...before,
    withInput(call('a'), input),
    output('a'),
  ];
  const restore = (items: readonly Item[], keepsInput = true): readonly Item[] => {
    const remembered = callingAnswerOf(answer, keepsInput);
    return restoreReasoning(items, () => remembered).items;
  };

  it('get the text of the model, with and without its reasoning', () => {
    const changed = '{"edits":[1],"path":"a.ts","all":false}';
    const whole = sentAs(own, thought('r'));
    expect(restore(sentAs(changed))).toEqual(whole);
    expect(restore(sentAs(changed, thought('r')))).toEqual(whole);
    expect(restore(sentAs(own, thought('r')))).toEqual(whole);
  });

  it('stay if their values were changed, or if no text is remembered', () => {
    const other = '{"edits":[2],"path":"a.ts"}';
    expect(restore(sentAs(other, thought('r')))).toEqual(sentAs(other, thought('r')));
    const same = '{"path":"a.ts","edits":[1]}';
    expect(restore(sentAs(same, thought('r')), false)).toEqual(sentAs(same, thought('r')));
  });

  it('stay if comparing them would take long', () => {
    const long = JSON.stringify({ path: 'a.ts', edits: [1], added: 'x'.repeat(2_000_000) });
    expect(restore(sentAs(long, thought('r')))).toEqual(sentAs(long, thought('r')));
  });

  it('are remembered without reasoning, too', () => {
    expect(callingAnswerOf([call('a')], true)).toEqual({
      steps: [{ kind: 'call', callId: 'a', input: '{}' }],
      calls: new Map([['a', 0]]),
    });
  });
});

/** The same values in another order of members, with added ones. */
const rewritten = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(rewritten);
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).map(([key, inner]) => [key, rewritten(inner)] as const);
  return Object.fromEntries([...members.toReversed(), ['added by the client', false]]);
};

describe('hasSameArguments', () => {
  it('accepts another order, other spaces and added members', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (own) => {
        const spaced = JSON.stringify(own, null, 2);
        expect(hasSameArguments(JSON.stringify(rewritten(own)), spaced)).toBe(true);
      }),
    );
  });

  it('rejects changed, removed and reordered values', () => {
    const pairs: readonly (readonly [sent: string, own: string])[] = [
      ['{"a":2}', '{"a":1}'],
      ['{}', '{"a":null}'],
      ['{"a":[2,1]}', '{"a":[1,2]}'],
      ['{"a":[1,2]}', '{"a":[1]}'],
      ['{"a":{"b":1}}', '{"a":[1]}'],
      ['{"a":[1]}', '{"a":{"0":1}}'],
      ['{"a":"1"}', '{"a":1}'],
      ['{}', '{"toString":1}'],
      ['{"a":1}', '{"a":1'],
      ['', '{}'],
    ];
    expect(pairs.filter(([sent, own]) => hasSameArguments(sent, own))).toEqual([]);
  });
});
