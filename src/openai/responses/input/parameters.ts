import { CONVERSATION_PARAMETERS } from '../../chat/parameters.ts';
import type { ParameterTable } from '../../../apis/parameters.ts';
import type { CreateResponse } from './schema.ts';

const ECHO = 'Always echoed in the response.';

/** How each field of `CreateResponse` is handled. A new field does not compile without a row. */
export const RESPONSES_PARAMETERS: ParameterTable<CreateResponse> = {
  ...CONVERSATION_PARAMETERS,
  input: {
    asks: ['items', 'cache.breakpoints', 'callFields'],
    note: 'A text or up to 10,000 items. Every item keeps its type, role, order, id and argument string.',
  },
  instructions: { asks: ['instructions'], note: '' },
  stream: {
    policy: 'mapped',
    note: 'Typed server-sent events, or one JSON object built from the same events. `POST /v1/responses/compact` rejects `true`.',
  },
  stream_options: {
    policy: 'ignored',
    note: 'Nothing is obfuscated, so `include_obfuscation: true` has no effect. `include_usage` of Chat is accepted: the last event always has the usage.',
  },
  tools: {
    asks: ['tools'],
    note: 'Up to 1,024: functions with their schema and `strict`, custom tools, namespaces, and tools of any other type. All their fields are sent to the backend unchanged. Tools in items (`additional_tools`, `tool_search_output`) count too. The backend rejects tools that it does not support.',
  },
  max_tool_calls: {
    asks: ['maxToolCalls'],
    note: 'Limits the calls that the backend runs, such as web searches, and calls of MCP servers configured here. Functions of the client do not count.',
  },
  reasoning: {
    asks: ['reasoning.effort', 'reasoning.summary', 'reasoning.context', 'reasoning.mode'],
    note: '`effort`, `summary` (or the legacy `generate_summary`), `context` and `mode`. The response has the effort in force, which is the default of the model if none was sent.',
  },
  text: {
    asks: ['format', 'verbosity'],
    note: '`format` with its name, description and strictness; `verbosity`.',
  },
  response_format: {
    asks: ['format'],
    note: "Chat's name for `text.format`, in Chat's form or in that of `text.format`. If both are sent, they must be equal.",
  },
  max_output_tokens: { asks: ['maxOutputTokens'], note: 'A truncated answer has `status: incomplete`.' },
  top_logprobs: {
    asks: ['logprobs.top'],
    note: '0 to 20; request them with `include: ["message.output_text.logprobs"]`.',
  },
  truncation: {
    asks: ['truncation'],
    note: '`auto`, if the backend supports it; otherwise an input that is too long is an error.',
  },
  include: {
    asks: ['include'],
    note: '`reasoning.encrypted_content` is always mapped; other values are reported one by one.',
  },
  metadata: { asks: ['metadata'], otherwise: 'echoed', note: ECHO },
  client_metadata: {
    asks: ['clientMetadata'],
    note: 'Metadata that codex sends about its turns. Not part of the public API, but OpenAI accepts it from codex.',
  },
  user: { asks: ['user'], otherwise: 'echoed', note: ECHO },
  safety_identifier: { asks: ['safetyIdentifier'], otherwise: 'echoed', note: ECHO },
  prompt_cache_key: {
    asks: ['cache.key'],
    otherwise: 'echoed',
    note: 'Sent to the backend, and echoed in the response. Default: one key per conversation.',
  },
  prompt_cache_retention: { asks: ['cache.retention'], otherwise: 'echoed', note: ECHO },
  access_programs: { asks: ['accessPrograms'], note: 'Sent to the backend unchanged.' },
  image: { asks: ['imageOptions'], note: 'Sent to the backend unchanged.' },
  store: {
    policy: 'mapped',
    note: 'Default `true`. The response shows the effective value: with `PROXY_STORE=off`, or if the store is unavailable, `false`.',
  },
  background: {
    policy: 'mapped',
    note: 'Answered at once with `status: queued`; the response runs without the client and can be retrieved, streamed and cancelled. Rejected with `PROXY_STORE=off`. With `store: false` it is kept for ten minutes after its end.',
  },
  previous_response_id: {
    policy: 'mapped',
    note: 'The stored conversation up to that response comes before the input. Not with `conversation`.',
  },
  conversation: {
    policy: 'mapped',
    note: 'The items of the conversation come before the input; input and output are added to it when the response has ended. Not with `previous_response_id`.',
  },
  prompt: { policy: 'rejected', note: 'Prompt templates are stored at OpenAI and cannot be read from here.' },
  context_management: {
    asks: ['contextManagement'],
    note: 'Sent to the backend unchanged. A `compaction` item in its answer is returned unchanged, and can be sent back.',
  },
};
