import { describe, expect, it } from 'vitest';

import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { collect, emit, fixedAmbient } from '../../../test/support/turn-events.ts';
import { cutOutput } from './limit-output.ts';
import { stopAt } from './stop-sequences.ts';
import type { Tokenizer } from '../tokenizer.ts';

const { clock } = fixedAmbient();

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

describe('log probabilities of a text that is cut', () => {
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
