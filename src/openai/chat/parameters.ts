import type { ParameterTable } from '../parameters.ts';
import type { CreateChat } from './schema.ts';

const WIRE = 'Set on the request to the backend where it takes it, else named as ignored.';
const SILENT = 'Set on the request to the backend where it takes it; the answer is the same without it.';

/** Every field of a chat request and what becomes of it. A new field does not compile without a row. */
export const CHAT_PARAMETERS: ParameterTable<CreateChat> = {
  model: {
    policy: 'mapped',
    note: 'Goes to the backend; an alias such as `<model>-high` sets the effort too.',
  },
  messages: {
    policy: 'mapped',
    note: 'Every message keeps its role, order, parts, call ids and argument strings. `name` has no place in what the app-server takes and is named as ignored (the legacy role `function` is matched by it). `reasoning_content` that a client sends back is not shown to the model.',
  },
  prompt: {
    policy: 'mapped',
    note: 'The last user message of a request that has none; beside a user message it is named as ignored.',
  },
  stream: { policy: 'mapped', note: 'Chunks, or the fold of the same events as JSON.' },
  stream_options: {
    policy: 'mapped',
    note: '`include_usage`; nothing is obfuscated, so `include_obfuscation: true` is named as ignored.',
  },
  n: {
    policy: 'emulated',
    note: '1 to 8: as many turns side by side, the usage summed; one that fails ends all.',
  },
  max_tokens: {
    policy: 'emulated',
    note: 'As `max_completion_tokens`; both at once get a 400.',
  },
  max_completion_tokens: {
    policy: 'emulated',
    note: "The backend's own limit where it has one; else the visible text is counted with a tokenizer and cut. `finish_reason: length`.",
  },
  stop: {
    policy: 'emulated',
    note: 'A text or up to 4: the answer ends before the first match, the turn is interrupted, `finish_reason: stop`. Then the upstream gives no usage.',
  },
  response_format: {
    policy: 'mapped',
    note: '`text`, `json_object`, `json_schema` (a schema that is none gets a 400). Commentary messages are left out of an answer in JSON.',
  },
  tools: { policy: 'mapped', note: 'Function tools; another type gets 400 `unsupported_tool`.' },
  tool_choice: {
    policy: 'emulated',
    note: '`auto`; `none` and `allowed_tools` by declaring fewer tools; a forced call where the backend takes it, else named as ignored.',
  },
  parallel_tool_calls: { policy: 'emulated', note: '`false`: the answer ends after the first call.' },
  functions: {
    policy: 'mapped',
    note: 'The older form of `tools`: the answer has `function_call` and at most one call.',
  },
  function_call: { policy: 'emulated', note: 'The older form of `tool_choice`.' },
  reasoning_effort: { policy: 'mapped', note: 'Goes to the app-server.' },
  reasoning: {
    policy: 'mapped',
    note: '`effort` as `reasoning_effort`; `summary` asks for the summary, which comes as `reasoning_content` (see `PROXY_CHAT_REASONING`).',
  },
  verbosity: { policy: 'mapped', note: 'Goes to the app-server for listed models, else to the backend.' },
  temperature: { policy: 'mapped', note: `0 to 2. ${WIRE}` },
  top_p: { policy: 'mapped', note: `Above 0, up to 1. ${WIRE}` },
  presence_penalty: { policy: 'mapped', note: `-2 to 2. ${WIRE}` },
  frequency_penalty: { policy: 'mapped', note: `-2 to 2. ${WIRE}` },
  seed: { policy: 'mapped', note: WIRE },
  logit_bias: {
    policy: 'ignored',
    note: '-100 to 100 per token id. A Responses backend has no field for it.',
  },
  logprobs: { policy: 'mapped', note: 'Given where the backend gives them, else 400.' },
  top_logprobs: { policy: 'mapped', note: 'Given where the backend gives them, else 400.' },
  service_tier: { policy: 'mapped', note: '`flex`, `priority` and `fast` reach the backend.' },
  metadata: { policy: 'mapped', note: SILENT },
  user: { policy: 'mapped', note: SILENT },
  safety_identifier: { policy: 'mapped', note: SILENT },
  prompt_cache_key: { policy: 'mapped', note: SILENT },
  prompt_cache_retention: { policy: 'mapped', note: SILENT },
  prompt_cache_options: { policy: 'mapped', note: WIRE },
  store: { policy: 'ignored', note: 'Chat completions are not stored; `true` is named as ignored.' },
  modalities: { policy: 'rejected', note: 'Only text is answered: `audio` gets a 400.' },
  audio: { policy: 'ignored', note: 'Only text is answered.' },
  prediction: { policy: 'ignored', note: 'It would only make the answer faster.' },
  web_search_options: { policy: 'rejected', note: 'Web search is not served in chat.' },
  moderation: { policy: 'ignored', note: 'The app-server has no field for it.' },
};
