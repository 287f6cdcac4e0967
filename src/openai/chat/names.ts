import type { Setting } from '../../canonical/request/path.ts';
import { SHARED_SETTINGS, type ParameterNames } from '../shared/parameter-names.ts';

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

/** A chat has two words for some settings. */
interface Spelling {
  readonly places: readonly string[];
  /** The older form, with `functions`. */
  readonly isLegacy: boolean;
  /** Which of the tools stands in `web_search_options`. */
  readonly webSearchAt: number | null;
  /** The effort stands in `reasoning`, as in the Responses API. */
  readonly hasReasoning: boolean;
  /** Where the body says something of a tool. */
  readonly placeOf: (index: number) => string;
}

export const chatNames = ({
  places,
  isLegacy,
  webSearchAt,
  hasReasoning,
  placeOf,
}: Spelling): ParameterNames => ({
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
  // A chat can ask for log probabilities, and for nothing else.
  include: () => CHAT_SETTINGS.include,
});
