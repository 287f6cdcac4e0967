import type { Setting } from '../../canonical/path.ts';
import type { Tool } from '../../canonical/tool.ts';
import { SHARED_SETTINGS, type ParameterNames } from '../parameter-names.ts';

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
  /** The effort stands in `reasoning`, as in the Responses API. */
  readonly hasReasoning: boolean;
  readonly tools: readonly Tool[];
}

export const chatNames = ({ places, isLegacy, hasReasoning, tools }: Spelling): ParameterNames => {
  const toolField = (index: number, field: string): string =>
    isLegacy
      ? `functions[${index}].${field}`
      : `tools[${index}].${tools[index]?.kind === 'custom' ? 'custom' : 'function'}.${field}`;
  return {
    settings: {
      ...CHAT_SETTINGS,
      ...(isLegacy ? { tools: 'functions', toolChoice: 'function_call' } : {}),
      ...(hasReasoning ? { 'reasoning.effort': 'reasoning.effort' } : {}),
    },
    places,
    tool: (index) => (isLegacy ? `functions[${index}]` : `tools[${index}]`),
    toolName: (index) => toolField(index, 'name'),
    toolField,
    // A chat can ask for log probabilities, and for nothing else.
    include: () => CHAT_SETTINGS.include,
  };
};
