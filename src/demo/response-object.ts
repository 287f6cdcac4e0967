import type { Usage } from '../canonical/events/usage.ts';
import type { Json, JsonObject } from '../kit/json/json.ts';
import { isLongerThan } from '../kit/json/json-writer.ts';

/** The fields of a response object that change while it is generated. */
export interface ResponseState {
  readonly status: 'in_progress' | 'completed' | 'failed' | 'incomplete';
  readonly output: readonly JsonObject[];
  readonly completedAt: number | null;
  readonly error: JsonObject | null;
  readonly incompleteDetails: JsonObject | null;
  /** Undefined omits the key, as some providers do. */
  readonly usage: JsonObject | null | undefined;
}

export interface ResponseIdentity {
  readonly id: string;
  readonly createdAt: number;
  readonly model: string;
}

const MAX_ECHO_CHARS = 256 * 1024;

/** The complete response object inside `response.*` events. It echoes the request's settings, as OpenAI does. */
export const responseObject = (
  identity: ResponseIdentity,
  request: JsonObject,
  state: ResponseState,
): JsonObject => {
  // The object is sent three times, so very long values are omitted.
  const echo = (key: string, otherwise: Json): Json => {
    const value = request[key] ?? otherwise;
    return isLongerThan(value, MAX_ECHO_CHARS) ? otherwise : value;
  };
  return {
    id: identity.id,
    object: 'response',
    created_at: identity.createdAt,
    completed_at: state.completedAt,
    status: state.status,
    background: false,
    error: state.error,
    frequency_penalty: echo('frequency_penalty', 0),
    incomplete_details: state.incompleteDetails,
    instructions: echo('instructions', null),
    max_output_tokens: echo('max_output_tokens', null),
    max_tool_calls: echo('max_tool_calls', null),
    metadata: echo('metadata', {}),
    model: identity.model,
    output: state.output,
    parallel_tool_calls: echo('parallel_tool_calls', true),
    presence_penalty: echo('presence_penalty', 0),
    previous_response_id: null,
    prompt_cache_key: echo('prompt_cache_key', null),
    reasoning: echo('reasoning', { effort: null, summary: null }),
    safety_identifier: echo('safety_identifier', null),
    service_tier: echo('service_tier', 'default'),
    store: echo('store', false),
    temperature: echo('temperature', 1),
    text: echo('text', { format: { type: 'text' } }),
    tool_choice: echo('tool_choice', 'auto'),
    tools: echo('tools', []),
    top_logprobs: echo('top_logprobs', 0),
    top_p: echo('top_p', 1),
    truncation: echo('truncation', 'disabled'),
    usage: state.usage,
  };
};

export const usageFields = (usage: Usage): JsonObject => ({
  input_tokens: usage.inputTokens,
  input_tokens_details: {
    cached_tokens: usage.cachedInputTokens,
    cache_write_tokens: usage.cacheWriteInputTokens,
  },
  output_tokens: usage.outputTokens,
  output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  total_tokens: usage.totalTokens,
});

/** Estimates tokens as four characters each. */
export const roughTokens = (text: string): number => Math.ceil(text.length / 4);
