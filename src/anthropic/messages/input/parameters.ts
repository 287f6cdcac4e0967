import type { ParameterTable } from '../../../apis/parameters.ts';
import type { CreateMessage } from './schema.ts';

/** How each field of a Messages request is handled. A new field does not compile without a row. */
export const MESSAGES_PARAMETERS: ParameterTable<CreateMessage> = {
  model: { asks: ['model'], note: '' },
  max_tokens: { asks: ['maxOutputTokens'], note: 'Required.' },
  messages: { asks: ['items'], note: '' },
  system: { asks: ['items'], note: '' },
  stream: { policy: 'mapped', note: '' },
  tools: { asks: ['tools'], note: '' },
  tool_choice: { asks: ['toolChoice', 'parallelToolCalls'], note: '' },
  thinking: { asks: ['reasoning.effort', 'reasoning.summary'], note: '' },
  output_config: { asks: ['reasoning.effort', 'format'], note: '' },
  stop_sequences: { asks: ['stop'], note: '' },
  temperature: { asks: ['sampling.temperature'], note: '' },
  top_p: { asks: ['sampling.topP'], note: '' },
  top_k: { policy: 'ignored', note: 'A Responses backend has no field for it.' },
  metadata: {
    policy: 'mapped',
    note: 'Names the conversation if no header does. Never sent to the backend.',
  },
};
