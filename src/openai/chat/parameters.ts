import type { ParameterTable } from '../shared/parameters.ts';
import type { CreateChat } from './schema.ts';

const SILENT = 'The answer is the same without it.';
const LOGPROBS = 'Given where the backend gives them, else 400.';

/** Every field of a chat request and what becomes of it. A new field does not compile without a row. */
export const CHAT_PARAMETERS: ParameterTable<CreateChat> = {
  model: {
    asks: ['model'],
    note: 'Goes to the backend; an alias such as `<model>-high` sets the effort too.',
  },
  messages: {
    asks: ['items', 'cache.breakpoints'],
    note: 'Every message keeps its role, order, parts, call ids and argument strings. `name` has no place in an item of the backend and is named as ignored (the legacy role `function` is matched by it). `reasoning_content` or `reasoning` that a client sends back is not shown to the model. A body with `input` in place of messages is read as one of the Responses API, all of it, and answered as a chat; one with both gets a 400.',
  },
  prompt: {
    policy: 'mapped',
    note: 'Becomes the last user message if there is none; together with a user message it is named as ignored. Without it `messages` must contain at least one message, of any role.',
  },
  stream: { policy: 'mapped', note: 'Chunks, or the fold of the same events as JSON.' },
  stream_options: {
    policy: 'mapped',
    note: '`include_usage`; nothing is obfuscated, so `include_obfuscation: true` is named as ignored.',
  },
  n: {
    policy: 'emulated',
    note: '1 to 128: as many turns side by side, the usage summed; one that fails ends all. More than the server runs at once (`PROXY_MAX_CONCURRENT_TURNS`) gets a 400.',
  },
  max_tokens: {
    asks: ['maxOutputTokens'],
    note: 'As `max_completion_tokens`; both at once get a 400.',
  },
  max_completion_tokens: {
    asks: ['maxOutputTokens'],
    note: 'An answer that is cut has `finish_reason: length`.',
  },
  stop: {
    asks: ['stop'],
    note: 'A text of up to 4,096 characters, or up to 4: the answer ends before the first match, `finish_reason: stop`.',
  },
  response_format: {
    asks: ['format'],
    note: '`text`, `json_object`, `json_schema` (an invalid schema gets a 400). Commentary messages are left out of an answer in JSON.',
  },
  tools: {
    asks: ['tools'],
    note: 'Up to 128: functions, custom tools, and tools that the backend runs (`web_search` …), which go to it as they are; of what they do, Chat shows citations only. Further fields of tools go to the backend as they are. A tool may also be written as in the Responses API; calls of such a custom tool are returned as calls of a function whose `arguments` are the text. Tools that the client would have to answer in their own format (`shell`, `computer` …) do not exist in Chat: 400 `unsupported_tool`.',
  },
  tool_choice: { asks: ['toolChoice'], note: '' },
  parallel_tool_calls: { asks: ['parallelToolCalls'], note: '' },
  functions: {
    asks: ['tools'],
    note: 'The older form of `tools`: the answer has `function_call` and at most one call.',
  },
  function_call: { asks: ['toolChoice'], note: 'The older form of `tool_choice`.' },
  reasoning_effort: { asks: ['reasoning.effort'], note: '' },
  reasoning: {
    asks: ['reasoning.effort', 'reasoning.summary'],
    note: '`effort` as `reasoning_effort`; `summary` asks for the summary, which comes as `reasoning_content` and, the same, as `reasoning` (see `PROXY_CHAT_REASONING`).',
  },
  verbosity: { asks: ['verbosity'], note: '' },
  temperature: { asks: ['sampling.temperature'], note: '0 to 2.' },
  top_p: { asks: ['sampling.topP'], note: '0 to 1.' },
  presence_penalty: { asks: ['sampling.presencePenalty'], note: '-2 to 2.' },
  frequency_penalty: { asks: ['sampling.frequencyPenalty'], note: '-2 to 2.' },
  seed: { asks: ['sampling.seed'], note: '' },
  logit_bias: {
    policy: 'ignored',
    note: '-100 to 100 per token id. A Responses backend has no field for it.',
  },
  logprobs: { asks: ['include'], otherwise: 'rejected', note: LOGPROBS },
  top_logprobs: { asks: ['logprobs.top'], otherwise: 'rejected', note: LOGPROBS },
  service_tier: { asks: ['serviceTier'], note: 'Goes to the backend.' },
  metadata: { asks: ['metadata'], note: SILENT },
  user: { asks: ['user'], note: SILENT },
  safety_identifier: { asks: ['safetyIdentifier'], note: SILENT },
  prompt_cache_key: {
    asks: ['cache.key'],
    note: 'Goes to the backend. Left out, each conversation has a key of its own.',
  },
  prompt_cache_retention: { asks: ['cache.retention'], note: SILENT },
  prompt_cache_options: { asks: ['cache.options'], note: 'Goes to the backend as it is.' },
  store: { policy: 'ignored', note: 'Chat completions are not stored; `true` is named as ignored.' },
  modalities: { policy: 'rejected', note: 'Only text is answered: `audio` gets a 400.' },
  audio: { policy: 'ignored', note: 'Only text is answered.' },
  prediction: { policy: 'ignored', note: 'It would only make the answer faster.' },
  web_search_options: {
    asks: ['tools'],
    note: 'Becomes the hosted tool `web_search`; citations come back as `annotations`.',
  },
  moderation: { policy: 'ignored', note: 'No moderation is run here.' },
};
