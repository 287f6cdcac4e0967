import { ModelBudget } from '../../src/canonical/context/model-budget.ts';
import { NO_TRACE } from '../../src/canonical/context/trace.ts';
import type { Turn, TurnContext } from '../../src/canonical/context/turn-context.ts';
import type { FunctionTool } from '../../src/canonical/request/tool.ts';
import { PLAIN_REQUEST, type TurnRequest } from '../../src/canonical/request/turn-request.ts';

export const { sampling: NO_SAMPLING, cache: NO_CACHE } = PLAIN_REQUEST;

/** The smallest request, and what a test wants different. */
export const turnRequest = (different: Partial<TurnRequest> = {}): TurnRequest => ({
  ...PLAIN_REQUEST,
  model: 'gpt-5.5',
  items: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }],
  ...different,
});

/** A context in which nothing is recorded, and what a test wants different. */
export const turnContext = (different: Partial<TurnContext> = {}): TurnContext => ({
  caller: { keyId: 'caller' },
  conversation: 'conversation',
  budget: new ModelBudget(64),
  trace: NO_TRACE,
  ...different,
});

export type Different = Partial<TurnRequest & { readonly keyId: string; readonly conversation: string }>;

/** A request in its context, and what a test wants different in either. */
export const turnOf = ({ keyId, conversation, ...request }: Different = {}): Turn => ({
  request: turnRequest(request),
  context: turnContext({
    ...(keyId === undefined ? {} : { caller: { keyId } }),
    ...(conversation === undefined ? {} : { conversation }),
  }),
});

/** A tool with only a name, and a test's changes. */
export const functionTool = (name: string, different: Partial<FunctionTool> = {}): FunctionTool => ({
  kind: 'function',
  name,
  description: null,
  parameters: null,
  strict: null,
  ...different,
});
