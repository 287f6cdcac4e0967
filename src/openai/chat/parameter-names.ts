import type { Setting } from '../../canonical/request/path.ts';
import type { ParameterNames } from '../../apis/parameter-names.ts';
import { SHARED_SETTINGS } from '../shared/shared-settings.ts';
import type { ReadTools } from './tools.ts';

export const CHAT_SETTINGS: Readonly<Record<Setting, string>> = {
  ...SHARED_SETTINGS,
  instructions: 'messages',
  items: 'messages',
  'reasoning.effort': 'reasoning_effort',
  format: 'response_format',
  verbosity: 'verbosity',
  maxOutputTokens: 'max_completion_tokens',
  include: 'logprobs',
};

/** The spelling of a chat request: some settings have two names. */
interface Spelling extends Pick<ReadTools, 'isLegacy' | 'webSearchAt' | 'placeOf'> {
  readonly places: readonly string[];
  /** The effort is in `reasoning`, as in the Responses API. */
  readonly hasReasoning: boolean;
}

export const chatNames = (spelling: Spelling): ParameterNames => {
  const { places, isLegacy, webSearchAt, hasReasoning, placeOf } = spelling;
  return {
    settings: {
      ...CHAT_SETTINGS,
      ...(isLegacy ? { tools: 'functions', toolChoice: 'function_call' } : {}),
      ...(hasReasoning ? { 'reasoning.effort': 'reasoning.effort' } : {}),
    },
    places,
    tool(index) {
      if (index === webSearchAt) return 'web_search_options';
      return isLegacy ? `functions[${index}]` : `tools[${index}]`;
    },
    toolField: (index, field) => `${placeOf(index)}.${field}`,
    formatPlace: 'response_format.json_schema',
    // In Chat, `include` can only request log probabilities.
    include: () => CHAT_SETTINGS.include,
  };
};
