import { ModelBudget } from '../../src/canonical/context/model-budget.ts';
import type { FunctionTool } from '../../src/canonical/request/tool.ts';
import { PLAIN_ASK, type AskedTurn, type TurnRequest } from '../../src/canonical/request/turn-request.ts';

export const { sampling: NO_SAMPLING, cache: NO_CACHE } = PLAIN_ASK;

/** The smallest ask, and what a test wants different. */
export const askedTurn = (different: Partial<AskedTurn> = {}): AskedTurn => ({
  ...PLAIN_ASK,
  model: 'gpt-5.5',
  items: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }],
  ...different,
});

/** The same as part of a conversation. */
export const turnRequest = (different: Partial<TurnRequest> = {}): TurnRequest => ({
  ...askedTurn(),
  caller: 'caller',
  isStrict: false,
  conversation: 'conversation',
  budget: new ModelBudget(64),
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
