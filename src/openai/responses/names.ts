import type { Setting } from '../../canonical/path.ts';
import { quoted } from '../../kit/quote.ts';
import { SHARED_SETTINGS, type ParameterNames } from '../parameter-names.ts';
import type { ToolForm } from '../read-tools.ts';

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

export const responsesNames = (places: readonly string[], placeOf: ToolForm['placeOf']): ParameterNames => ({
  settings: SETTINGS,
  places,
  tool: (index) => `tools[${index}]`,
  toolField: (index, field) => `${placeOf(index)}.${field}`,
  include: (value) => `include.${quoted(value)}`,
});
