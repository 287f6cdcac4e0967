import type { ParameterTable } from '../parameters.ts';
import type { CreateResponse } from './schema.ts';

/** Every field of `CreateResponse` and what becomes of it. A new field does not compile without a row. */
export const RESPONSES_PARAMETERS: ParameterTable<CreateResponse> = {
  model: {
    policy: 'mapped',
    note: 'Goes to the backend; an alias such as `<model>-high` sets the effort too.',
  },
  input: {
    policy: 'mapped',
    note: 'Every item keeps its type, role, order, id and argument string; `system` travels as `developer`.',
  },
  instructions: {
    policy: 'mapped',
    note: 'The first message the model sees (see `PROXY_INSTRUCTIONS_TARGET`).',
  },
  stream: { policy: 'mapped', note: 'Typed server-sent events, or the fold of the same events as JSON.' },
  stream_options: {
    policy: 'ignored',
    note: 'Nothing is obfuscated, so `include_obfuscation: true` has no effect.',
  },
  tools: { policy: 'mapped', note: 'Function tools; another type gets 400 `unsupported_tool`.' },
  tool_choice: {
    policy: 'emulated',
    note: '`auto`; `none` and `allowed_tools` by declaring fewer tools; a forced call cannot be forced and is named as ignored.',
  },
  parallel_tool_calls: { policy: 'emulated', note: '`false`: the answer ends after the first call.' },
  max_tool_calls: { policy: 'echoed', note: 'It limits built-in tools, and none run.' },
  reasoning: { policy: 'mapped', note: '`effort` and `summary` (or the older `generate_summary`).' },
  text: {
    policy: 'mapped',
    note: '`format` json_schema constrains the answer, json_object is checked only; `verbosity` for listed models.',
  },
  max_output_tokens: {
    policy: 'emulated',
    note: 'The visible text is counted with a tokenizer and cut; `status: incomplete`.',
  },
  temperature: { policy: 'ignored', note: 'The app-server has no field for it.' },
  top_p: { policy: 'ignored', note: 'The app-server has no field for it.' },
  top_logprobs: { policy: 'ignored', note: 'The app-server gives no log probabilities.' },
  presence_penalty: { policy: 'ignored', note: 'The app-server has no field for it.' },
  frequency_penalty: { policy: 'ignored', note: 'The app-server has no field for it.' },
  truncation: { policy: 'ignored', note: '`auto` has no effect: a too long input is an error.' },
  include: {
    policy: 'mapped',
    note: '`reasoning.encrypted_content`; other values have nothing to add and are named as ignored.',
  },
  service_tier: { policy: 'mapped', note: '`flex`, `priority` and `fast` reach the backend.' },
  metadata: { policy: 'echoed', note: 'Comes back in the response.' },
  user: { policy: 'echoed', note: 'Comes back in the response.' },
  safety_identifier: { policy: 'echoed', note: 'Comes back in the response.' },
  prompt_cache_key: { policy: 'echoed', note: 'Comes back in the response.' },
  prompt_cache_retention: { policy: 'echoed', note: 'Comes back in the response.' },
  prompt_cache_options: { policy: 'ignored', note: 'The app-server has no field for it.' },
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
