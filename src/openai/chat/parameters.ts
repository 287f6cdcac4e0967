import type { ParameterRow, ParameterTable, Policy } from '../parameters.ts';
import type { CreateChat } from './schema.ts';

const SILENT = 'The answer is the same without it.';

/** A parameter that only the request to the backend can carry. */
const onWire = (field: string, otherwise: Policy, note: string): ParameterRow => ({
  policy: 'mapped',
  wire: { field, otherwise },
  note,
});

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
  max_tokens: onWire('max_output_tokens', 'emulated', 'As `max_completion_tokens`; both at once get a 400.'),
  max_completion_tokens: onWire(
    'max_output_tokens',
    'emulated',
    'Emulated: the visible text is counted with a tokenizer and cut, `finish_reason: length`; the turn is interrupted there, and then the upstream gives no usage.',
  ),
  stop: {
    policy: 'emulated',
    note: 'A text of up to 4,096 characters, or up to 4: the answer ends before the first match, the turn is interrupted, `finish_reason: stop`. Then the upstream gives no usage.',
  },
  response_format: {
    policy: 'mapped',
    note: '`text`, `json_object`, `json_schema` (an invalid schema gets a 400). Commentary messages are left out of an answer in JSON.',
  },
  tools: {
    policy: 'mapped',
    note: 'Up to 128 function tools; another type gets 400 `unsupported_tool`.',
  },
  tool_choice: onWire(
    'tool_choice',
    'emulated',
    'Emulated: `none` and `allowed_tools` by declaring fewer tools; a call that must come cannot be forced and is named as ignored.',
  ),
  parallel_tool_calls: onWire(
    'parallel_tool_calls',
    'emulated',
    '`false`: the answer ends after the first call in any case.',
  ),
  functions: {
    policy: 'mapped',
    note: 'The older form of `tools`: the answer has `function_call` and at most one call.',
  },
  function_call: onWire('tool_choice', 'emulated', 'The older form of `tool_choice`.'),
  reasoning_effort: { policy: 'mapped', note: 'Goes to the app-server.' },
  reasoning: {
    policy: 'mapped',
    note: '`effort` as `reasoning_effort`; `summary` asks for the summary, which comes as `reasoning_content` (see `PROXY_CHAT_REASONING`).',
  },
  verbosity: { policy: 'mapped', note: 'Goes to the app-server for listed models, else to the backend.' },
  temperature: onWire('temperature', 'ignored', '0 to 2.'),
  top_p: onWire('top_p', 'ignored', 'Above 0, up to 1.'),
  presence_penalty: onWire('presence_penalty', 'ignored', '-2 to 2.'),
  frequency_penalty: onWire('frequency_penalty', 'ignored', '-2 to 2.'),
  seed: onWire('seed', 'ignored', 'A backend that does not know it is asked again without it.'),
  logit_bias: {
    policy: 'ignored',
    note: '-100 to 100 per token id. A Responses backend has no field for it.',
  },
  logprobs: onWire('include', 'rejected', 'Given where the backend gives them, else 400.'),
  top_logprobs: onWire('top_logprobs', 'rejected', 'Given where the backend gives them, else 400.'),
  service_tier: {
    policy: 'mapped',
    note: 'Goes to the backend; with a ChatGPT login only `priority` does (`fast` is the same), without the relay also `flex`.',
  },
  metadata: onWire('metadata', 'silent', SILENT),
  user: onWire('user', 'silent', SILENT),
  safety_identifier: onWire('safety_identifier', 'silent', SILENT),
  prompt_cache_key: onWire(
    'prompt_cache_key',
    'silent',
    'Goes to the backend as it is. Left out, each conversation has a key of its own.',
  ),
  prompt_cache_retention: onWire('prompt_cache_retention', 'silent', SILENT),
  prompt_cache_options: onWire('prompt_cache_options', 'ignored', 'Goes to the backend as it is.'),
  store: { policy: 'ignored', note: 'Chat completions are not stored; `true` is named as ignored.' },
  modalities: { policy: 'rejected', note: 'Only text is answered: `audio` gets a 400.' },
  audio: { policy: 'ignored', note: 'Only text is answered.' },
  prediction: { policy: 'ignored', note: 'It would only make the answer faster.' },
  web_search_options: { policy: 'rejected', note: 'Web search is not served in chat.' },
  moderation: { policy: 'ignored', note: 'The app-server has no field for it.' },
};
