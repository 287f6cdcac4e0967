import type { Setting } from '../../../canonical/request/path.ts';
import { quoted } from '../../../kit/text/display.ts';
import type { ParameterNames } from '../../../apis/parameter-names.ts';
import { SHARED_SETTINGS } from '../../shared/shared-settings.ts';
import type { ToolForm } from '../../shared/read-tools.ts';
import type { ReadFormat } from './format.ts';

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

interface Spelling {
  readonly places: readonly string[];
  /** The location of a tool in the body. */
  readonly placeOf: ToolForm['placeOf'];
  /** The name of the output format; default: that of this API. */
  readonly format?: Pick<ReadFormat, 'param' | 'place'>;
}

const OWN_FORMAT: Spelling['format'] & object = { param: 'text.format', place: 'text.format' };

export const responsesNames = ({ places, placeOf, format = OWN_FORMAT }: Spelling): ParameterNames => ({
  settings: { ...SETTINGS, format: format.param },
  formatPlace: format.place,
  places,
  tool: (index) => `tools[${index}]`,
  toolField: (index, field) => `${placeOf(index)}.${field}`,
  include: (value) => `include.${quoted(value)}`,
});
