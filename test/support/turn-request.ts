import type { FunctionTool } from '../../src/canonical/tool.ts';
import type { AskedTurn, CacheSettings, Sampling, TurnRequest } from '../../src/canonical/turn-request.ts';

export const NO_SAMPLING: Sampling = {
  temperature: null,
  topP: null,
  presencePenalty: null,
  frequencyPenalty: null,
  seed: null,
};
export const NO_CACHE: CacheSettings = { key: null, retention: null, options: null };

/** The smallest ask, and what a test wants different. */
export const askedTurn = (different: Partial<AskedTurn> = {}): AskedTurn => ({
  model: 'gpt-5.5',
  instructions: null,
  items: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }],
  tools: [],
  toolChoice: { mode: 'auto' },
  parallelToolCalls: null,
  maxToolCalls: null,
  canApprove: false,
  reasoning: { effort: null, summary: null },
  format: { kind: 'text' },
  verbosity: null,
  serviceTier: null,
  maxOutputTokens: null,
  stop: [],
  sampling: NO_SAMPLING,
  logprobs: { top: null, isNeeded: false },
  truncation: null,
  include: [],
  cache: NO_CACHE,
  metadata: null,
  user: null,
  safetyIdentifier: null,
  ...different,
});

/** The same as part of a conversation. */
export const turnRequest = (different: Partial<TurnRequest> = {}): TurnRequest => ({
  ...askedTurn(),
  caller: 'caller',
  isStrict: false,
  conversation: 'conversation',
  insists: false,
  ...different,
});

/** A tool of which only the name is said, and what a test wants different. */
export const functionTool = (name: string, different: Partial<FunctionTool> = {}): FunctionTool => ({
  kind: 'function',
  name,
  description: null,
  parameters: null,
  strict: null,
  ...different,
});
