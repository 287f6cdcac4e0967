import { type ClientFile, wholeOf } from './client.ts';
import type { Format } from './formats/format.ts';
import { json } from './formats/json.ts';
import { toml } from './formats/toml.ts';
import { yaml } from './formats/yaml.ts';

/** The formats of settings files by name. */
export const FORMATS: Readonly<Record<ClientFile['format'], Format>> = { json, toml, yaml };

/** The settings of a client in a new file. */
export const snippetOf = ({ format, settings }: ClientFile): string =>
  FORMATS[format].print(wholeOf(settings));
