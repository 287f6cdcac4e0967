import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  ACCEPTED,
  callTold,
  END,
  messageEnded,
  messageStarted,
  messageTold,
  textDelta,
} from '../../../test/support/item-events.ts';
import { collect, emit, fixedAmbient } from '../../../test/support/turn-events.ts';
import { fold } from '../../canonical/events/accumulate.ts';
import { isMessage, wordsOf } from '../../canonical/request/item.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { wellFormed } from '../../canonical/events/well-formed.ts';
import type { Tokenizer } from '../count-tokens.ts';
import { stopAt } from './stop-sequences.ts';
import { cutOutput } from './limit-output.ts';

const { clock } = fixedAmbient();

describe('stop sequences', () => {
  const usage = {
    inputTokens: 1,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    outputTokens: 1,
    reasoningTokens: 0,
    totalTokens: 2,
  };

  const turn = (deltas: readonly string[]): TurnEvent[] => [
    ACCEPTED,
    ...messageTold('m', ...deltas),
    { ...END, usage },
  ];

  const deltasOf = (events: readonly TurnEvent[]): string[] =>
    events.flatMap((event) => (event.type === 'item-delta' ? [event.delta] : []));

  /** As in the engine: open items are ended after it. */
  const stopped = (events: AsyncIterable<TurnEvent>, stops: readonly string[]) =>
    wellFormed(stopAt(events, stops, { clock, signal: new AbortController().signal }), { clock });

  const run = (deltas: readonly string[], stops: readonly string[]) =>
    collect(stopped(emit(turn(deltas)), stops));

  describe('stopAt', () => {
    it('ends before the stop, ends open items, and reports no usage', async () => {
      expect(await run(['one ', 'two END three'], ['END'])).toEqual([
        ACCEPTED,
        messageStarted('m'),
        textDelta('m', 'one '),
        textDelta('m', 'two '),
        messageEnded('m', 'one two '),
        { ...END, outcome: { kind: 'completed', stop: 'END' }, isEndedHere: true },
      ]);
    });

    it('leaves a call that is half written incomplete', async () => {
      const [started, half] = callTold('c', '{"a":');
      const events = [ACCEPTED, started, half, ...messageTold('m', 'one END'), END].filter(
        (event) => event !== undefined,
      );
      const { items, outcome } = await fold(stopped(emit(events), ['END']));
      expect(items.map((item) => [item.id, 'status' in item && item.status])).toEqual([
        ['c', 'incomplete'],
        ['m', 'completed'],
      ]);
      expect(outcome).toEqual({ kind: 'completed', stop: 'END' });
    });

    it('ends an answer with calls as one with calls', async () => {
      const events = [ACCEPTED, ...callTold('c', '{}'), ...messageTold('m', 'one END'), END];
      const { items, outcome } = await fold(stopped(emit(events), ['END']));
      expect([items.map(({ id }) => id), outcome]).toEqual([['c', 'm'], { kind: 'tool-calls' }]);
    });

    it('finds a stop that is split over deltas and sends nothing of it', async () => {
      expect(deltasOf(await run(['a<', 's', 'top', '>b'], ['<stop>']))).toEqual(['a']);
    });

    it('takes the earliest of several, also when a later one is complete first', async () => {
      expect(deltasOf(await run(['say abc now'], ['now', 'abc']))).toEqual(['say ']);
      // "bc" is whole after the first delta; "abcd" began before it, but did not become a stop.
      expect(deltasOf(await run(['xabc', 'e'], ['abcd', 'bc'])).join('')).toBe('xa');
    });

    it('holds back only what may become a stop, and gives it back when it does not', async () => {
      expect(deltasOf(await run(['ab', '<st', 'rong>'], ['<stop>']))).toEqual(['ab', '<strong>']);
    });

    it('sends held text at the end of the message', async () => {
      expect(deltasOf(await run(['ab<sto'], ['<stop>']))).toEqual(['ab', '<sto']);
    });

    it('does not find a stop across two messages', async () => {
      const events: TurnEvent[] = [
        messageStarted('m'),
        textDelta('m', 'EN'),
        messageEnded('m', 'EN'),
        messageStarted('n'),
        textDelta('n', 'D'),
        messageEnded('n', 'D'),
        { ...END, usage },
      ];
      expect(await collect(stopped(emit(events), ['END']))).toEqual(events);
    });

    it('leaves the arguments of calls alone', async () => {
      const events: TurnEvent[] = [
        ...callTold('c', '"END"'),
        { type: 'turn-ended', outcome: { kind: 'tool-calls' }, usage, at: 1_800_000_000_000 },
      ];
      expect(await collect(stopped(emit(events), ['END']))).toEqual(events);
    });

    it('reads each character once, even if most of a stop occurs repeatedly', async () => {
      // In a time that grows with the square of the length, this would not end before the test does.
      const stop = `${'a'.repeat(100_000)}b`;
      const text = `${'a'.repeat(300_000)}c`;
      expect(deltasOf(await run([text, text, 'a', stop], [stop, 'never'])).join('')).toBe(`${text}${text}a`);
    });

    it('leaves the source when it stops, so that the turn is interrupted', async () => {
      let isLeft = false;
      async function* endless(): AsyncGenerator<TurnEvent> {
        try {
          yield messageStarted('m');
          for (;;) yield textDelta('m', 'x.');
        } finally {
          isLeft = true;
        }
      }
      expect(deltasOf(await collect(stopped(endless(), ['.x.x'])))).toEqual(['x']);
      expect(isLeft).toBe(true);
    });
  });

  /** The whole text at once, and each stop looked for from the left. */
  const naive = (deltas: readonly string[], stops: readonly string[]): string => {
    // A stop counts as soon as the text so far holds it: what comes later cannot change the past.
    let text = '';
    for (const char of deltas.join('')) {
      text += char;
      const ends = stops.filter((stop) => text.includes(stop)).map((stop) => text.indexOf(stop));
      if (ends.length > 0) return text.slice(0, Math.min(...ends));
    }
    return text;
  };

  describe('stopAt, for any text in any pieces', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '\n'), maxLength: 8 });
    const stops = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', '\n'), minLength: 1, maxLength: 4 }), {
      minLength: 1,
      maxLength: 4,
    });

    it('equals a naive search in the whole text', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(letters, { maxLength: 8 }), stops, async (deltas, some) => {
          const events = await run(deltas, some);
          const { items } = await fold(emit(events));
          const text = naive(deltas, some);
          expect(items.map((item) => (isMessage(item) ? wordsOf(item, 'text') : item.kind))).toEqual([text]);
          expect(deltasOf(events).join('')).toBe(text);
        }),
        { numRuns: 3000 },
      );
    });

    it('never holds back more than the longest stop but one character', async () => {
      await fc.assert(
        fc.asyncProperty(letters, stops, async (text, some) => {
          async function* silentAfter(): AsyncGenerator<TurnEvent> {
            yield messageStarted('m');
            yield { type: 'item-delta', itemId: 'm', at: 'text', delta: text };
          }
          const sent = deltasOf(await collect(stopped(silentAfter(), some))).join('');
          const isWhole = naive([text], some) === text;
          const longest = Math.max(...some.map((stop) => stop.length));
          if (isWhole) expect(text.length - sent.length).toBeLessThan(longest);
          else expect(sent).toBe(naive([text], some));
        }),
      );
    });
  });
});

describe('log probabilities of a text that is cut', () => {
  /** Deltas, each with the tokens that it is made of. */
  const turn = (deltas: readonly (readonly string[])[]): TurnEvent[] => [
    { type: 'turn-accepted', ignored: [], limitsOutput: false, headers: {} },
    { type: 'item-started', item: { kind: 'message', id: 'm', role: 'assistant', parts: [] } },
    ...deltas.map((tokens) => ({
      type: 'item-delta' as const,
      itemId: 'm',
      at: 'text' as const,
      delta: tokens.join(''),
      logprobs: tokens.map((token) => ({ token, logprob: -0.1 })),
    })),
    {
      type: 'item-ended',
      item: {
        kind: 'message',
        id: 'm',
        role: 'assistant',
        parts: [{ kind: 'text', text: deltas.flat().join('') }],
        status: 'completed',
      },
    },
    { type: 'turn-ended', outcome: { kind: 'completed' }, usage: null, at: 1 },
  ];

  const told = async (events: AsyncIterable<TurnEvent>) =>
    (await collect(events)).flatMap((event) =>
      event.type === 'item-delta'
        ? [[event.delta, (event.logprobs ?? []).map((one) => (one as { token: string }).token)]]
        : [],
    );

  it.each([
    ['in the middle of a delta', [['Yes', '.', ' END', ' x']], [['Yes. ', ['Yes', '.', ' END']]]],
    ['in pieces', [['Yes'], ['EN'], ['D']], [['Yes', ['Yes']]]],
    [
      'that does not come',
      [['Yes', ' E'], ['at'], ['E']],
      [
        ['Yes ', ['Yes', ' E']],
        ['Eat', ['at']],
        ['E', ['E']],
      ],
    ],
  ])('at a stop %s', async (_, deltas, expected) => {
    expect(
      await told(stopAt(emit(turn(deltas)), ['END'], { clock, signal: new AbortController().signal })),
    ).toEqual(expected);
  });

  it('at a limit are those of the tokens that are left', async () => {
    const words = (text: string): readonly string[] => text.match(/\s*\S+/g) ?? [];
    const tokenizer: Tokenizer = {
      warmUp() {},
      count: async (text) => words(text).length,
      head: async (text, tokens) => words(text).slice(0, tokens).join(''),
    };
    const events = emit(turn([['Yes', ' and', ' no']]));
    expect(await told(cutOutput(events, { maxTokens: 1, tokenizer, clock }))).toEqual([['Yes', ['Yes']]]);
  });
});
