import type { Setting } from '../../canonical/path.ts';
import type { ParameterNames } from '../parameter-names.ts';

export const CHAT_SETTINGS: Readonly<Record<Setting, string>> = {
  model: 'model',
  instructions: 'messages',
  items: 'messages',
  tools: 'tools',
  toolChoice: 'tool_choice',
  parallelToolCalls: 'parallel_tool_calls',
  'reasoning.effort': 'reasoning_effort',
  'reasoning.summary': 'reasoning.summary',
  format: 'response_format',
  verbosity: 'verbosity',
  serviceTier: 'service_tier',
  maxOutputTokens: 'max_completion_tokens',
  stop: 'stop',
  'sampling.temperature': 'temperature',
  'sampling.topP': 'top_p',
  'sampling.presencePenalty': 'presence_penalty',
  'sampling.frequencyPenalty': 'frequency_penalty',
  'sampling.seed': 'seed',
  include: 'logprobs',
  'logprobs.top': 'top_logprobs',
  truncation: 'truncation',
  'cache.key': 'prompt_cache_key',
  'cache.retention': 'prompt_cache_retention',
  'cache.options': 'prompt_cache_options',
  metadata: 'metadata',
  user: 'user',
  safetyIdentifier: 'safety_identifier',
};

/** A chat has two words for some settings. */
interface Spelling {
  readonly places: readonly string[];
  /** The older form, with `functions`. */
  readonly isLegacy: boolean;
  /** The effort stands in `reasoning`, as in the Responses API. */
  readonly hasReasoning: boolean;
}

export const chatNames = ({ places, isLegacy, hasReasoning }: Spelling): ParameterNames => ({
  settings: {
    ...CHAT_SETTINGS,
    ...(isLegacy ? { tools: 'functions', toolChoice: 'function_call' } : {}),
    ...(hasReasoning ? { 'reasoning.effort': 'reasoning.effort' } : {}),
  },
  places,
  toolName: (index) => (isLegacy ? `functions[${index}].name` : `tools[${index}].function.name`),
  // A chat can ask for log probabilities, and for nothing else.
  include: () => CHAT_SETTINGS.include,
});
