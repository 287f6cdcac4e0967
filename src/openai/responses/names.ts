import type { Setting } from '../../canonical/path.ts';
import { quoted } from '../../kit/quote.ts';
import { SHARED_SETTINGS, type ParameterNames } from '../parameter-names.ts';

const SETTINGS: Readonly<Record<Setting, string>> = {
  ...SHARED_SETTINGS,
  instructions: 'instructions',
  items: 'input',
  'reasoning.effort': 'reasoning.effort',
  format: 'text.format',
  verbosity: 'text.verbosity',
  maxOutputTokens: 'max_output_tokens',
  include: 'include',
};

export const responsesNames = (places: readonly string[]): ParameterNames => ({
  settings: SETTINGS,
  places,
  tool: (index) => `tools[${index}]`,
  toolName: (index) => `tools[${index}].name`,
  toolField: (index, field) => `tools[${index}].${field}`,
  include: (value) => `include.${quoted(value)}`,
});
