import { TurnAnswers } from '../../src/codex/relay/request/turn-answers.ts';
import { profileOf } from '../../src/codex/capabilities/profile.ts';
import { directLogin } from '../../src/codex/home/backend.ts';
import {
  requestEdits,
  type BackendLimits,
  type EditContext,
  type RequestShape,
} from '../../src/codex/relay/request/edits.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import type { TurnRequest } from '../../src/canonical/request/turn-request.ts';
import { turnRequest } from './turn-request.ts';

/** A model request of codex, and what the relay makes of it for a turn. */

export const SESSION = {
  threadId: 'thread-1',
  cacheKey: 'cache-key',
  session: 'session-1',
  slug: 'gpt-5.5',
  clientMetadata: null,
  model: 'gpt-5.5',
  turn: {
    appServerTurnId: 'turn-of-codex',
    turnId: 'turn-1',
    startedAtMs: 1_000,
    windowId: 'window-1',
    effort: null,
  },
};
export const SHAPE: RequestShape = {
  strategy: {
    requestFormat: 'responses',
    slug: 'gpt-5.5',
    instructions: 'field',
    reasoning: 'kept',
    customTools: 'native',
    namespaces: 'kept',
    lateTools: 'in-place',
  },
  injected: { instructions: null, items: [] },
  developerInstructions: null,
  mcp: null,
};
export const PROVIDER = profileOf({ kind: 'upstream', baseUrl: 'http://x', apiKeyEnv: null }, null);
export const CHATGPT = profileOf(directLogin('chatgpt'), null);
export const everything: BackendLimits = { profile: PROVIDER, refuses: new Set() };
export const nothing: EditContext = {
  without: new Set(),
  isFirstRequest: true,
  carried: null,
  answers: new TurnAnswers(),
};
/** A request in which nothing follows the placeholder. */
export const first: EditContext = { ...nothing, carried: { tools: [], before: 0, after: [], own: [] } };

export const ENCRYPTED = 'reasoning.encrypted_content';
export const body: JsonObject = {
  model: 'gpt-5.5',
  stream: true,
  input: [],
  tool_choice: 'auto',
  include: [ENCRYPTED],
  prompt_cache_key: 'thread-1',
  text: { verbosity: 'low' },
};

export const edited = (
  request: Partial<TurnRequest>,
  on: JsonObject = body,
  profile: BackendLimits['profile'] = PROVIDER,
): JsonObject =>
  requestEdits(turnRequest(request), SHAPE, SESSION, { ...everything, profile }).apply(on, nothing);
