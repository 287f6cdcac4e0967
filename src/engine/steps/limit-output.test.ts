import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { collect, emit, fixedAmbient } from '../../../test/support/turn-events.ts';
import {
  callDelta,
  callEnded,
  callStarted,
  callTold,
  END,
  messageEnded,
  messageStarted,
  messageTold,
  textDelta,
} from '../../../test/support/item-events.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { wellFormed } from '../../canonical/events/well-formed.ts';
import { countTokens, encodingOf, textHead } from '../../tokenizer/encoding.ts';
import { cutOutput } from './limit-output.ts';
import type { Tokenizer } from '../count-tokens.ts';

/** One character is one token: what is cut can be counted by eye. */
const encoding = await encodingOf('gpt-5.5');

const characters: Tokenizer = {
  warmUp: () => {},
  count: async (text) => text.length,
  head: async (text, tokens) => text.slice(0, tokens),
};
const { clock } = fixedAmbient();
const limited = (
  events: readonly TurnEvent[],
  maxTokens: number,
  tokenizer: Tokenizer = characters,
): Promise<TurnEvent[]> =>
  collect(wellFormed(cutOutput(emit(events), { maxTokens, tokenizer, clock }), { clock }));

const accepted = (limitsOutput: boolean): TurnEvent => ({
  type: 'turn-accepted',
  ignored: [],
  limitsOutput,
  headers: {},
});
const CUT: TurnEvent = {
  type: 'turn-ended',
  outcome: { kind: 'incomplete', reason: 'max_output_tokens' },
  usage: null,
  isEndedHere: true,
  at: 1_800_000_000_000,
};

describe('limitOutput', () => {
  it('passes an answer within the limit', async () => {
    const turn = [...messageTold('m', 'abc', 'de'), END];
    expect(await limited(turn, 5)).toEqual(turn);
  });

  it('cuts inside a delta, ends open items, and ends the turn as incomplete', async () => {
    expect(await limited([...messageTold('m', 'abc', 'defg', 'h'), END], 5)).toEqual([
      messageStarted('m'),
      textDelta('m', 'abc'),
      textDelta('m', 'de'),
      messageEnded('m', 'abcde', { status: 'incomplete' }),
      CUT,
    ]);
  });

  it('cuts between two deltas without an empty one', async () => {
    expect(await limited([...messageTold('m', 'abc', 'def'), END], 3)).toEqual([
      messageStarted('m'),
      textDelta('m', 'abc'),
      messageEnded('m', 'abc', { status: 'incomplete' }),
      CUT,
    ]);
  });

  it('counts all items, names and arguments of calls too', async () => {
    expect(await limited([...messageTold('m', 'abc'), ...callTold('f', '{"a"', ':1}'), END], 9)).toEqual([
      ...messageTold('m', 'abc'),
      callStarted('f'),
      callDelta('f', '{"a"'),
      callDelta('f', ':'),
      callEnded('f', '{"a":', { status: 'incomplete' }),
      CUT,
    ]);
  });

  it('starts no call whose name is beyond the limit', async () => {
    const turn = [...messageTold('m', 'abc'), ...callTold('f', '{}'), END];
    expect(await limited(turn, 3)).toEqual([...messageTold('m', 'abc'), CUT]);
  });

  it('leaves the limit to a backend that accepts it', async () => {
    const turn = [accepted(true), ...messageTold('m', 'abcdefgh'), END];
    expect(await limited(turn, 2)).toEqual(turn);
  });

  it('limits the output if the backend does not', async () => {
    const read = await limited([accepted(false), ...messageTold('m', 'abcdefgh'), END], 2);
    expect(read.at(-1)).toEqual(CUT);
  });

  it('asks the tokenizer rarely: never while even the bytes would fit, and then a few times', async () => {
    const asked: number[] = [];
    const counting: Tokenizer = {
      ...characters,
      count: async (text) => {
        asked.push(text.length);
        return Math.ceil(text.length / 4);
      },
    };
    const deltas = Array.from({ length: 1_000 }, () => 'some ');
    await limited([...messageTold('m', ...deltas), END], 6_000, counting);
    expect(asked).toEqual([]);
    const read = await limited([...messageTold('m', ...deltas), END], 1_300, counting);
    expect(read.at(-1)).toEqual(END);
    expect(asked.length).toBeLessThan(60);
    expect(asked.reduce((sum, length) => sum + length, 0)).toBeLessThan(30_000);
  });

  it('takes a delta of any length in pieces', async () => {
    const asked: number[] = [];
    const counting: Tokenizer = {
      ...characters,
      count: async (text) => {
        asked.push(text.length);
        return text.length;
      },
    };
    const read = await limited([...messageTold('m', 'x'.repeat(1_000_000)), END], 100, counting);
    expect(read[1]).toEqual({ type: 'item-delta', itemId: 'm', at: 'text', delta: 'x'.repeat(100) });
    expect(asked).toEqual([1_024]);
  });

  it('leaves the turn when it is cut, so that it is interrupted', async () => {
    let wasLeft = false;
    async function* source(): AsyncGenerator<TurnEvent> {
      try {
        yield* [...messageTold('m', 'abcdef'), END];
      } finally {
        wasLeft = true;
      }
    }
    await collect(cutOutput(source(), { maxTokens: 3, tokenizer: characters, clock }));
    expect(wasLeft).toBe(true);
  });

  it('stops counting a long delta when the turn is aborted', async () => {
    const left = new AbortController();
    let counts = 0;
    const tokenizer: Tokenizer = {
      ...characters,
      async count() {
        counts += 1;
        left.abort(new Error('gone'));
        return 1;
      },
    };
    const long = messageTold('m', 'x'.repeat(1_000_000));
    const limit = { maxTokens: 1_000, tokenizer, clock, signal: left.signal };
    await expect(collect(cutOutput(emit(long), limit))).rejects.toThrow('gone');
    expect(counts).toBeLessThan(5);
  });
});

describe('limitOutput with the real tokenizer', () => {
  const tokenizer: Tokenizer = {
    warmUp: () => {},
    count: async (text) => countTokens(text, encoding),
    head: async (text, tokens) => textHead(text, tokens, encoding),
  };

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

  it('the output is a beginning of the text within the limit', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(word, { maxLength: 200 }),
        fc.integer({ min: 1, max: 120 }),
        async (deltas, max) => {
          const read = await limited([...messageTold('m', ...deltas), END], max, tokenizer);
          const text = read.map((event) => (event.type === 'item-delta' ? event.delta : '')).join('');
          expect(deltas.join('').startsWith(text)).toBe(true);
          expect(countTokens(text, encoding)).toBeLessThanOrEqual(max);
          // Deltas joined are the text of the end, as the grammar wants it.
          expect(read.find((event) => event.type === 'item-ended')).toMatchObject({
            item: { parts: [{ text }] },
          });
          if (countTokens(deltas.join(''), encoding) <= max - deltas.length) expect(read.at(-1)).toEqual(END);
        },
      ),
      { numRuns: 150 },
    );
  });

  it('reads a long text without spaces', async () => {
    const deltas = Array.from({ length: 600 }, () => 'abcdefgh');
    const read = await limited([...messageTold('m', ...deltas), END], 1_000_000, tokenizer);
    expect(read.at(-1)).toEqual(END);
  });
});
