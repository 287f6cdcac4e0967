import type { ParameterNames } from '../../../apis/parameter-names.ts';
import type { Setting } from '../../../canonical/request/path.ts';

/** Settings that only other APIs ask for keep the names of the middle. */
export const MESSAGES_SETTINGS: Readonly<Record<Setting, string>> = {
  model: 'model',
  instructions: 'system',
  items: 'messages',
  tools: 'tools',
  toolChoice: 'tool_choice',
  parallelToolCalls: 'tool_choice.disable_parallel_tool_use',
  maxToolCalls: 'tools.max_uses',
  'reasoning.effort': 'output_config.effort',
  'reasoning.summary': 'thinking.display',
  'reasoning.context': 'thinking',
  'reasoning.mode': 'thinking',
  format: 'output_config.format',
  verbosity: 'verbosity',
  serviceTier: 'speed',
  maxOutputTokens: 'max_tokens',
  stop: 'stop_sequences',
  'sampling.temperature': 'temperature',
  'sampling.topP': 'top_p',
  'sampling.presencePenalty': 'presence_penalty',
  'sampling.frequencyPenalty': 'frequency_penalty',
  'sampling.seed': 'seed',
  include: 'include',
  'logprobs.top': 'top_logprobs',
  truncation: 'truncation',
  contextManagement: 'context_management',
  'cache.key': 'cache_control',
  'cache.retention': 'cache_control',
  'cache.options': 'cache_control',
  'cache.breakpoints': 'cache_control',
  callFields: 'caller',
  accessPrograms: 'access_programs',
  imageOptions: 'image',
  metadata: 'metadata',
  clientMetadata: 'metadata',
  user: 'metadata.user_id',
  safetyIdentifier: 'metadata.user_id',
};

export const messagesNames = (
  places: readonly string[],
  toolPlace: (index: number) => string = (index) => `tools[${index}]`,
): ParameterNames => ({
  settings: MESSAGES_SETTINGS,
  places,
  tool: toolPlace,
  toolField: (index, field) => `${toolPlace(index)}.${field}`,
  include: () => 'thinking',
  formatPlace: 'output_config.format',
});
