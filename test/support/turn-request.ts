import type { AskedTurn, TurnRequest } from '../../src/canonical/turn-request.ts';

/** The smallest ask, and what a test wants different. */
export const askedTurn = (different: Partial<AskedTurn> = {}): AskedTurn => ({
  model: 'gpt-5.5',
  instructions: null,
  items: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }],
  places: ['input'],
  tools: [],
  toolChoice: { mode: 'auto' },
  parallelToolCalls: null,
  reasoning: { effort: null, effortName: 'reasoning.effort', summary: null },
  format: { kind: 'text' },
  verbosity: null,
  serviceTier: null,
  maxOutputTokens: null,
  stop: [],
  wire: [],
  ...different,
});

/** The same as part of a conversation. */
export const turnRequest = (different: Partial<TurnRequest> = {}): TurnRequest => ({
  ...askedTurn(),
  caller: 'caller',
  insists: [],
  conversation: 'conversation',
  ...different,
});
