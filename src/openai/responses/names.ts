import type { Setting } from '../../canonical/path.ts';
import { quoted } from '../../kit/quote.ts';
import type { ParameterNames } from '../parameter-names.ts';

const SETTINGS: Readonly<Record<Setting, string>> = {
  model: 'model',
  instructions: 'instructions',
  items: 'input',
  tools: 'tools',
  toolChoice: 'tool_choice',
  parallelToolCalls: 'parallel_tool_calls',
  'reasoning.effort': 'reasoning.effort',
  'reasoning.summary': 'reasoning.summary',
  format: 'text.format',
  verbosity: 'text.verbosity',
  serviceTier: 'service_tier',
  maxOutputTokens: 'max_output_tokens',
  stop: 'stop',
  'sampling.temperature': 'temperature',
  'sampling.topP': 'top_p',
  'sampling.presencePenalty': 'presence_penalty',
  'sampling.frequencyPenalty': 'frequency_penalty',
  'sampling.seed': 'seed',
  include: 'include',
  'logprobs.top': 'top_logprobs',
  truncation: 'truncation',
  'cache.key': 'prompt_cache_key',
  'cache.retention': 'prompt_cache_retention',
  'cache.options': 'prompt_cache_options',
  metadata: 'metadata',
  user: 'user',
  safetyIdentifier: 'safety_identifier',
};

export const responsesNames = (places: readonly string[]): ParameterNames => ({
  settings: SETTINGS,
  places,
  toolName: (index) => `tools[${index}].name`,
  include: (value) => `include.${quoted(value)}`,
});
