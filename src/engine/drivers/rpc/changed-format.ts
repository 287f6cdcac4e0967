import type { Path } from '../../../canonical/request/path.ts';
import type { TurnRequest } from '../../../canonical/request/turn-request.ts';

/** The name that codex gives to every output schema. */
const CODEX_NAME = 'codex_output_schema';

/**
 * The fields of an output schema that codex changes: the app-server accepts only the bare
 * schema, and codex sends it under its own name, without a description, and always as strict.
 */
export const changedByCodex = ({ format }: Pick<TurnRequest, 'format'>): readonly Path[] => {
  if (format.kind !== 'json-schema') return [];
  const { name, description, strict } = format;
  return [
    ...(name === CODEX_NAME ? [] : [{ formatField: 'name' }]),
    ...(description === null ? [] : [{ formatField: 'description' }]),
    ...(strict === false ? [{ formatField: 'strict' }] : []),
  ];
};
