import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';

import { collect, emit } from '../../test/support/turn-events.ts';
import type { TurnEvent } from '../canonical/turn-event.ts';
import { loadTokenizer } from '../tokenizer/o200k.ts';
import { limitOutput } from './limit-output.ts';
import type { Tokenizer } from './tokenizer.ts';

/** One character is one token: what is cut can be counted by eye. */
const characters: Tokenizer = { count: (text) => text.length, head: (text, tokens) => text.slice(0, tokens) };
const limited = (
  events: readonly TurnEvent[],
  maxTokens: number,
  tokenizer: Tokenizer = characters,
): Promise<TurnEvent[]> => collect(limitOutput(emit(events), maxTokens, async () => tokenizer));

const accepted = (limitsOutput: boolean): TurnEvent => ({
  type: 'turn-accepted',
  ignored: [],
  limitsOutput,
  headers: {},
});
const message = (itemId: string, ...deltas: readonly string[]): TurnEvent[] => [
  { type: 'message-started', itemId, phase: null },
  ...deltas.map((delta) => ({ type: 'text-delta', itemId, delta }) as const),
  messageEnded(itemId, deltas.join(''), true),
];
const messageEnded = (itemId: string, text: string, complete: boolean): TurnEvent => ({
  type: 'message-ended',
  itemId,
  text,
  refusal: null,
  phase: null,
  annotations: [],
  logprobs: [],
  complete,
});
const call = (itemId: string, ...deltas: readonly string[]): TurnEvent[] => [
  { type: 'call-started', itemId, callId: 'c', name: 'f' },
  ...deltas.map((delta) => ({ type: 'call-delta', itemId, delta }) as const),
  { type: 'call-ended', itemId, callId: 'c', name: 'f', arguments: deltas.join(''), complete: true },
];
const END: TurnEvent = { type: 'turn-ended', outcome: { kind: 'completed' }, usage: null };
const CUT: TurnEvent = {
  type: 'turn-ended',
  outcome: { kind: 'incomplete', reason: 'max_output_tokens' },
  usage: null,
};

describe('limitOutput', () => {
  it('lets an answer through that keeps the limit', async () => {
    const turn = [...message('m', 'abc', 'de'), END];
    expect(await limited(turn, 5)).toEqual(turn);
  });

  it('cuts inside a delta, ends what is open, and the turn as incomplete', async () => {
    expect(await limited([...message('m', 'abc', 'defg', 'h'), END], 5)).toEqual([
      { type: 'message-started', itemId: 'm', phase: null },
      { type: 'text-delta', itemId: 'm', delta: 'abc' },
      { type: 'text-delta', itemId: 'm', delta: 'de' },
      messageEnded('m', 'abcde', false),
      CUT,
    ]);
  });

  it('cuts between two deltas without an empty one', async () => {
    expect(await limited([...message('m', 'abc', 'def'), END], 3)).toEqual([
      { type: 'message-started', itemId: 'm', phase: null },
      { type: 'text-delta', itemId: 'm', delta: 'abc' },
      messageEnded('m', 'abc', false),
      CUT,
    ]);
  });

  it('counts all items, arguments of calls too', async () => {
    expect(await limited([...message('m', 'abc'), ...call('f', '{"a"', ':1}'), END], 8)).toEqual([
      ...message('m', 'abc'),
      { type: 'call-started', itemId: 'f', callId: 'c', name: 'f' },
      { type: 'call-delta', itemId: 'f', delta: '{"a"' },
      { type: 'call-delta', itemId: 'f', delta: ':' },
      { type: 'call-ended', itemId: 'f', callId: 'c', name: 'f', arguments: '{"a":', complete: false },
      CUT,
    ]);
  });

  it('leaves it to a backend that was told the limit', async () => {
    const turn = [accepted(true), ...message('m', 'abcdefgh'), END];
    expect(await limited(turn, 2)).toEqual(turn);
  });

  it('does it itself where the backend was not told', async () => {
    const read = await limited([accepted(false), ...message('m', 'abcdefgh'), END], 2);
    expect(read.at(-1)).toEqual(CUT);
  });

  it('loads no tokenizer for a turn without text', async () => {
    let loaded = 0;
    const load = async (): Promise<Tokenizer> => {
      loaded += 1;
      return characters;
    };
    expect(await collect(limitOutput(emit([END]), 5, load))).toEqual([END]);
    expect(loaded).toBe(0);
  });

  it('leaves the turn when it is cut, so that it is interrupted', async () => {
    let wasLeft = false;
    async function* source(): AsyncGenerator<TurnEvent> {
      try {
        yield* [...message('m', 'abcdef'), END];
      } finally {
        wasLeft = true;
      }
    }
    await collect(limitOutput(source(), 3, async () => characters));
    expect(wasLeft).toBe(true);
  });
});

describe('limitOutput with the real tokenizer', () => {
  let tokenizer: Tokenizer;
  beforeAll(async () => {
    tokenizer = await loadTokenizer();
  });

  const word = fc.constantFrom(
    'the ',
    'antidisestablishmentarianism',
    ' 😀',
    '\n\n',
    '한국어 ',
    '{"a":1}',
    '  ',
    'x',
  );

  it('what comes out is a beginning of the text, of at most so many tokens', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(word, { maxLength: 200 }),
        fc.integer({ min: 1, max: 120 }),
        async (deltas, max) => {
          const read = await limited([...message('m', ...deltas), END], max, tokenizer);
          const text = read.map((event) => (event.type === 'text-delta' ? event.delta : '')).join('');
          expect(deltas.join('').startsWith(text)).toBe(true);
          expect(tokenizer.count(text)).toBeLessThanOrEqual(max);
          // Deltas joined are the text of the end, as the grammar wants it.
          expect(read.find((event) => event.type === 'message-ended')).toMatchObject({ text });
          if (tokenizer.count(deltas.join('')) <= max - deltas.length) expect(read.at(-1)).toEqual(END);
        },
      ),
      { numRuns: 150 },
    );
  });

  it('goes through a long text without spaces too', async () => {
    const deltas = Array.from({ length: 600 }, () => 'abcdefgh');
    const read = await limited([...message('m', ...deltas), END], 1_000_000, tokenizer);
    expect(read.at(-1)).toEqual(END);
  });
});
