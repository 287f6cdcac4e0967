import type { TurnRequest } from '../../src/canonical/turn-request.ts';

/** The smallest turn request, and what a test wants different. */
export const turnRequest = (different: Partial<TurnRequest> = {}): TurnRequest => ({
  model: 'gpt-5.5',
  instructions: null,
  items: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }],
  tools: [],
  toolChoice: { mode: 'auto' },
  parallelToolCalls: null,
  reasoning: { effort: null, summary: null },
  format: { kind: 'text' },
  verbosity: null,
  serviceTier: null,
  maxOutputTokens: null,
  stop: [],
  wire: [],
  affinity: { caller: 'test', session: null },
  ...different,
});
