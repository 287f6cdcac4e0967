import type { ParameterTable } from '../../shared/parameters.ts';
import type { CreateResponse } from './schema.ts';

const ECHO = 'Comes back in the response in any case.';

/** Every field of `CreateResponse` and what becomes of it. A new field does not compile without a row. */
export const RESPONSES_PARAMETERS: ParameterTable<CreateResponse> = {
  model: {
    asks: ['model'],
    note: 'Goes to the backend; an alias such as `<model>-high` sets the effort too.',
  },
  input: {
    asks: ['items', 'cache.breakpoints', 'callFields'],
    note: 'A text or up to 10,000 items. Every item keeps its type, role, order, id and argument string.',
  },
  instructions: { asks: ['instructions'], note: '' },
  stream: {
    policy: 'mapped',
    note: 'Typed server-sent events, or the fold of the same events as JSON. `POST /v1/responses/compact` refuses `true`.',
  },
  stream_options: {
    policy: 'ignored',
    note: 'Nothing is obfuscated, so `include_obfuscation: true` has no effect. `include_usage` of Chat is read: the last event always has the usage.',
  },
  tools: {
    asks: ['tools'],
    note: 'Up to 1,024: functions, each with its whole schema and `strict`, custom tools, namespaces, and tools of any other type; they and further fields of them go to the backend as they are. Tools in items (`additional_tools`, `tool_search_output`) count too. What the backend does not have it refuses itself.',
  },
  tool_choice: { asks: ['toolChoice'], note: '' },
  parallel_tool_calls: { asks: ['parallelToolCalls'], note: '' },
  max_tool_calls: {
    asks: ['maxToolCalls'],
    note: 'It limits the calls that the backend runs itself, such as web searches, and those of MCP servers that are run here. Functions of the client are not counted.',
  },
  reasoning: {
    asks: ['reasoning.effort', 'reasoning.summary', 'reasoning.context', 'reasoning.mode'],
    note: '`effort`, `summary` (or the older `generate_summary`), `context` and `mode`.',
  },
  text: {
    asks: ['format', 'verbosity'],
    note: '`format` with its name, description and strictness; `verbosity`.',
  },
  response_format: {
    asks: ['format'],
    note: "Chat's name for `text.format`, in Chat's form or in that of `text.format`. Both at once must say the same.",
  },
  max_output_tokens: { asks: ['maxOutputTokens'], note: 'An answer that is cut has `status: incomplete`.' },
  temperature: { asks: ['sampling.temperature'], note: '0 to 2.' },
  top_p: { asks: ['sampling.topP'], note: '0 to 1.' },
  top_logprobs: {
    asks: ['logprobs.top'],
    note: '0 to 20; ask for them with `include: ["message.output_text.logprobs"]`.',
  },
  presence_penalty: { asks: ['sampling.presencePenalty'], note: '-2 to 2.' },
  frequency_penalty: { asks: ['sampling.frequencyPenalty'], note: '-2 to 2.' },
  truncation: {
    asks: ['truncation'],
    note: '`auto`, where the backend can; otherwise an input that is too long is an error.',
  },
  include: {
    asks: ['include'],
    note: '`reasoning.encrypted_content` is mapped in any case; of other values each is named by itself.',
  },
  service_tier: { asks: ['serviceTier'], note: 'Goes to the backend.' },
  metadata: { asks: ['metadata'], otherwise: 'echoed', note: ECHO },
  client_metadata: {
    asks: ['clientMetadata'],
    note: 'What codex notes about its turns. No field of the public API, but OpenAI takes it from codex.',
  },
  user: { asks: ['user'], otherwise: 'echoed', note: ECHO },
  safety_identifier: { asks: ['safetyIdentifier'], otherwise: 'echoed', note: ECHO },
  prompt_cache_key: {
    asks: ['cache.key'],
    otherwise: 'echoed',
    note: 'Goes to the backend, and comes back in the response. Left out, each conversation has a key of its own.',
  },
  prompt_cache_retention: { asks: ['cache.retention'], otherwise: 'echoed', note: ECHO },
  prompt_cache_options: { asks: ['cache.options'], note: 'Goes to the backend as it is.' },
  access_programs: { asks: ['accessPrograms'], note: 'Goes to the backend as it is.' },
  image: { asks: ['imageOptions'], note: 'Goes to the backend as it is.' },
  store: {
    policy: 'ignored',
    note: 'Nothing is stored yet; `true` is named as ignored, the response says `store: false`. Unless it is `false`, items are kept in memory for an hour, for `item_reference`.',
  },
  background: { policy: 'rejected', note: 'Background responses are not supported yet.' },
  previous_response_id: {
    policy: 'rejected',
    note: 'Responses are not stored yet: send the whole conversation as input.',
  },
  conversation: {
    policy: 'rejected',
    note: 'Conversations are not stored yet: send the whole conversation as input.',
  },
  prompt: { policy: 'rejected', note: 'Prompt templates are stored at OpenAI and cannot be read from here.' },
  moderation: { policy: 'ignored', note: 'No moderation is run here.' },
  context_management: {
    asks: ['contextManagement'],
    note: 'Goes to the backend as it is. A `compaction` item that it puts into the answer comes back as it is, and can be sent again.',
  },
};
