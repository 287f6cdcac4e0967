import type { ParameterTable } from '../../../apis/parameters.ts';
import type { CreateMessage } from './schema.ts';

/** How each field of a Messages request is handled. A new field does not compile without a row. */
export const MESSAGES_PARAMETERS: ParameterTable<CreateMessage> = {
  model: {
    asks: ['model'],
    note: 'Every name with `claude` in it means a model of the backend (see http-api.md); the answer has the name that was asked for.',
  },
  max_tokens: { asks: ['maxOutputTokens'], note: 'Required.' },
  messages: { asks: ['items'], note: '' },
  system: {
    asks: ['items'],
    note: 'A system message in front of the conversation. A block that begins `x-anthropic-billing-header:` is left out.',
  },
  stream: { policy: 'mapped', note: '' },
  tools: { asks: ['tools'], note: '' },
  tool_choice: { asks: ['toolChoice', 'parallelToolCalls'], note: '' },
  thinking: {
    asks: ['reasoning.effort', 'reasoning.summary'],
    note: 'Without an effort, a budget below 4,096 tokens means `low`, below 16,384 `medium`, else `high`; `disabled` means the lowest effort of the model.',
  },
  output_config: {
    asks: ['reasoning.effort', 'format'],
    note: 'The effort of the last system message that has one comes first, and a model name with an effort before both. `max` means the highest effort of the model. A schema is strict if it has the form that OpenAI requires for it.',
  },
  output_format: { asks: ['format'], note: 'The older name of `output_config.format`.' },
  stop_sequences: { asks: ['stop'], note: '' },
  temperature: { asks: ['sampling.temperature'], note: '' },
  top_p: { asks: ['sampling.topP'], note: '' },
  top_k: { policy: 'ignored', note: 'A Responses backend has no field for it.' },
  speed: { asks: ['serviceTier'], note: '`fast` asks for the tier `priority`.' },
  service_tier: {
    policy: 'silent',
    note: 'No request uses a tier that it does not ask for, so both values mean what happens anyway.',
  },
  thread: {
    policy: 'mapped',
    note: 'The conversation is stored under the id of the answer. Needs the store; without it the error tells clients to send the whole conversation.',
  },
  metadata: {
    policy: 'mapped',
    note: 'Names the conversation if no header does. Never sent to the backend.',
  },
  context_management: {
    policy: 'ignored',
    note: 'The answer says that no edit was applied. Not named if it only says that all thinking is kept, which is what happens.',
  },
  cache_control: {
    policy: 'silent',
    note: 'Backends cache prompts without marks. It is accepted anywhere and never reaches the model.',
  },
  compaction: { policy: 'ignored', note: '' },
  container: { policy: 'rejected', note: 'This server has no containers.' },
  diagnostics: { policy: 'ignored', note: '' },
  fallback_credit_token: { policy: 'ignored', note: '' },
  fallbacks: { policy: 'ignored', note: '' },
  inference_geo: { policy: 'ignored', note: '' },
  mcp_servers: {
    asks: ['tools'],
    note: 'As tools of the type `mcp` in a Responses request, see mcp.md. One without a `url` is the server of the deployment with this `name`.',
  },
  user_profile_id: { policy: 'ignored', note: '' },
  workspace_id: { policy: 'ignored', note: '' },
};
