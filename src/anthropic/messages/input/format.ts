import { gatewayError } from '../../../canonical/failure/failure.ts';
import type { OutputFormat } from '../../../canonical/request/turn-request.ts';
import { isJsonObject, isSameJson, type Json, type JsonObject } from '../../../kit/json/json.ts';
import type { CreateMessage } from './schema.ts';

export interface ReadFormat {
  readonly format: OutputFormat;
  /** The location of the format in the body. */
  readonly place: 'output_config.format' | 'output_format';
}

/** The name that codex itself gives to every schema. Anthropic's API has none. */
const NAME = 'codex_output_schema';

/** Reads the output format under its name or its older one. Throws if both are sent and differ. */
export const readFormat = ({
  output_config: config,
  output_format: older,
}: Pick<CreateMessage, 'output_config' | 'output_format'>): ReadFormat => {
  const newer = config?.format;
  if (newer && older && !isSameJson(newer, older)) {
    throw gatewayError('invalid_value', {
      param: 'output_format',
      message: "Invalid 'output_format': it differs from 'output_config.format'. Send one of them.",
    });
  }
  const place = !newer && older ? 'output_format' : 'output_config.format';
  const schema = (newer ?? older)?.schema;
  if (schema === undefined) return { format: { kind: 'text' }, place };
  return {
    place,
    format: {
      kind: 'json-schema',
      name: NAME,
      description: null,
      schema,
      strict: isStrict(schema) ? true : null,
    },
  };
};

/** Larger schemas are not strict here. */
const MAX_SUBSCHEMAS = 5_000;

/**
 * Whether OpenAI accepts a schema as strict: every object lists all its properties as required and allows no others.
 * Anthropic also allows optional properties, and clients cannot know which backend reads their schema.
 */
const isStrict = (schema: JsonObject): boolean => {
  const open: Json[] = [schema];
  let seen = 0;
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    seen += 1;
    if (seen > MAX_SUBSCHEMAS) return false;
    if (typeof one !== 'object' || one === null) continue;
    const members = Object.values(one);
    if (members.length > MAX_SUBSCHEMAS) return false;
    for (const member of members) if (member !== undefined) open.push(member);
    if (!isJsonObject(one)) continue;
    const { properties } = one;
    if (isJsonObject(properties) || one['type'] === 'object') {
      const { required } = one;
      const names = new Set(Array.isArray(required) ? (required as readonly Json[]) : []);
      const own = Object.keys(isJsonObject(properties) ? properties : {});
      if (one['additionalProperties'] !== false || own.some((name) => !names.has(name))) return false;
    }
  }
  return true;
};
