import type { ClientFile } from './client.ts';
import type { Format } from './formats/format.ts';
import { json } from './formats/json.ts';
import { toml } from './formats/toml.ts';
import { yaml } from './formats/yaml.ts';

/** The formats of settings files by name. */
export const FORMATS: Readonly<Record<ClientFile['format'], Format>> = { json, toml, yaml };
