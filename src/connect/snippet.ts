import type { ClientFile } from './client.ts';
import { FORMATS } from './formats.ts';
import { wholeOf } from './setting.ts';

/** The settings of a client in a new file. */
export const snippetOf = ({ format, settings }: ClientFile): string =>
  FORMATS[format].print(wholeOf(settings));
