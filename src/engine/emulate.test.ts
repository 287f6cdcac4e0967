import { describe, expect, it } from 'vitest';

import { turnRequest } from '../../test/support/turn-request.ts';
import { collect, emit, fixedAmbient } from '../../test/support/turn-events.ts';
import type { TurnEvent } from '../canonical/turn-event.ts';
import { withEmulations } from './emulate.ts';
import type { Tokenizer } from './tokenizer.ts';

const characters: Tokenizer = {
  warmUp: () => {},
  count: async (text) => text.length,
  head: async (text, tokens) => text.slice(0, tokens),
};
const TURN: readonly TurnEvent[] = [
  { type: 'item-started', item: { kind: 'message', id: 'm', role: 'assistant', parts: [] } },
  { type: 'item-delta', itemId: 'm', at: 'text', delta: 'one STOP two' },
  {
    type: 'item-ended',
    item: {
      kind: 'message',
      id: 'm',
      role: 'assistant',
      parts: [{ kind: 'text', text: 'one STOP two' }],
      status: 'completed',
    },
  },
  { type: 'turn-ended', outcome: { kind: 'completed' }, usage: null, at: 1_800_000_000_000 },
];

const { clock } = fixedAmbient();

const run = async (different: Parameters<typeof turnRequest>[0]): Promise<readonly [string, string]> => {
  const engine = withEmulations({ unheard: () => [], run: () => emit(TURN) }, characters, clock);
  const events = await collect(engine.run(turnRequest(different), new AbortController().signal));
  const last = events.at(-1);
  const text = events.map((event) => (event.type === 'item-delta' ? event.delta : '')).join('');
  return [text, last?.type === 'turn-ended' ? last.outcome.kind : 'no end'];
};

describe('withEmulations', () => {
  it.each([
    ['nothing asked', {}, 'one STOP two', 'completed'],
    ['a limit', { maxOutputTokens: 3 }, 'one', 'incomplete'],
    ['a stop text', { stop: ['STOP'] }, 'one ', 'completed'],
    ['both, the limit first', { maxOutputTokens: 3, stop: ['STOP'] }, 'one', 'incomplete'],
    ['both, the stop text first', { maxOutputTokens: 6, stop: ['STOP'] }, 'one ', 'completed'],
  ])('%s', async (_, different, text, outcome) => {
    expect(await run(different)).toEqual([text, outcome]);
  });

  it('hands the events of the engine on untouched where there is nothing to do', () => {
    const events = emit(TURN);
    const engine = withEmulations({ unheard: () => [], run: () => events }, characters, clock);
    expect(engine.run(turnRequest(), new AbortController().signal)).toBe(events);
  });
});
