import type { ParameterTable } from '../parameters.ts';
import type { CreateResponse } from './schema.ts';

const ECHO = 'Comes back in the response in any case.';

/** Every field of `CreateResponse` and what becomes of it. A new field does not compile without a row. */
export const RESPONSES_PARAMETERS: ParameterTable<CreateResponse> = {
  model: {
    policy: 'mapped',
    note: 'Goes to the backend; an alias such as `<model>-high` sets the effort too.',
  },
  input: {
    policy: 'mapped',
    note: 'A text or up to 10,000 items. Every item keeps its type, role, order, id and argument string. Where the relay or the backend cannot say it, `system` travels as `developer`, and an image of low detail without its detail.',
  },
  instructions: {
    policy: 'mapped',
    note: "In the backend's own field; without the relay, and on the lite lane of a ChatGPT login, the first message (see `PROXY_INSTRUCTIONS_TARGET`).",
  },
  stream: { policy: 'mapped', note: 'Typed server-sent events, or the fold of the same events as JSON.' },
  stream_options: {
    policy: 'ignored',
    note: 'Nothing is obfuscated, so `include_obfuscation: true` has no effect.',
  },
  tools: {
    policy: 'mapped',
    note: 'Up to 1,024 function tools, each with its whole schema and `strict`; without the relay the app-server thins the schema out. Another type gets 400 `unsupported_tool`.',
  },
  tool_choice: {
    policy: 'mapped',
    wire: { field: 'tool_choice', otherwise: 'emulated' },
    note: 'Emulated: `none` and `allowed_tools` by declaring fewer tools; a call that must come cannot be forced and is named as ignored.',
  },
  parallel_tool_calls: {
    policy: 'mapped',
    wire: { field: 'parallel_tool_calls', otherwise: 'emulated' },
    note: '`false`: the answer ends after the first call in any case. `true` takes the full lane of a ChatGPT login, where several calls are possible.',
  },
  max_tool_calls: { policy: 'echoed', note: 'It limits built-in tools, and none run.' },
  reasoning: {
    policy: 'mapped',
    note: '`effort` and `summary` (or the older `generate_summary`). With a ChatGPT login an effort that the model does not have becomes the nearest one, and is named as ignored.',
  },
  text: {
    policy: 'mapped',
    note: '`format` with its name, description and strictness; `verbosity`. Without the relay json_object is checked only, and `verbosity` is for listed models.',
  },
  max_output_tokens: {
    policy: 'mapped',
    wire: { field: 'max_output_tokens', otherwise: 'emulated' },
    note: 'Emulated: the visible text is counted with a tokenizer and cut, `status: incomplete`; the turn is interrupted there, and then the upstream gives no usage.',
  },
  temperature: { policy: 'mapped', wire: { field: 'temperature', otherwise: 'ignored' }, note: '0 to 2.' },
  top_p: { policy: 'mapped', wire: { field: 'top_p', otherwise: 'ignored' }, note: '0 to 1.' },
  top_logprobs: {
    policy: 'mapped',
    wire: { field: 'top_logprobs', otherwise: 'ignored' },
    note: '0 to 20; ask for them with `include: ["message.output_text.logprobs"]`.',
  },
  presence_penalty: {
    policy: 'mapped',
    wire: { field: 'presence_penalty', otherwise: 'ignored' },
    note: '-2 to 2.',
  },
  frequency_penalty: {
    policy: 'mapped',
    wire: { field: 'frequency_penalty', otherwise: 'ignored' },
    note: '-2 to 2.',
  },
  truncation: {
    policy: 'mapped',
    wire: { field: 'truncation', otherwise: 'ignored' },
    note: '`auto`, where the backend can; otherwise an input that is too long is an error.',
  },
  include: {
    policy: 'mapped',
    note: '`reasoning.encrypted_content`; other values go to the backend, and without the relay they are named as ignored.',
  },
  service_tier: {
    policy: 'mapped',
    note: 'Goes to the backend; with a ChatGPT login only `priority` does (`fast` is the same), without the relay also `flex`.',
  },
  metadata: { policy: 'mapped', wire: { field: 'metadata', otherwise: 'echoed' }, note: ECHO },
  user: { policy: 'mapped', wire: { field: 'user', otherwise: 'echoed' }, note: ECHO },
  safety_identifier: {
    policy: 'mapped',
    wire: { field: 'safety_identifier', otherwise: 'echoed' },
    note: ECHO,
  },
  prompt_cache_key: {
    policy: 'mapped',
    wire: { field: 'prompt_cache_key', otherwise: 'echoed' },
    note: 'Goes to the backend as it is, and comes back in the response. Left out, each conversation has a key of its own.',
  },
  prompt_cache_retention: {
    policy: 'mapped',
    wire: { field: 'prompt_cache_retention', otherwise: 'echoed' },
    note: ECHO,
  },
  prompt_cache_options: {
    policy: 'mapped',
    wire: { field: 'prompt_cache_options', otherwise: 'ignored' },
    note: 'Goes to the backend as it is.',
  },
  store: {
    policy: 'ignored',
    note: 'Nothing is stored yet; `true` is named as ignored, the response says `store: false`.',
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
  moderation: { policy: 'ignored', note: 'The app-server has no field for it.' },
  context_management: { policy: 'ignored', note: 'The input is never shortened here.' },
};
