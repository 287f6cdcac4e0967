import type { Guidance } from '../engine/prose-tools/tool-guide.ts';
import { parseJsonObject } from '../kit/json/json.ts';
import { describeParameters } from './describe-parameters.ts';
import { sampleArguments } from './sample-value.ts';

/** Longer examples are not worth their tokens. */
const MAX_EXAMPLE_CHARS = 2_000;

/** Describes the parameters of a tool in prose; null if the schema is too deep. */
export const guideTo = (text: string): Guidance | null => {
  const schema = parseJsonObject(text);
  if (schema === null) return null;
  try {
    const example = sampleArguments(schema);
    const written = example === undefined ? null : JSON.stringify(example);
    return {
      parameters: describeParameters(schema),
      example: written !== null && written.length <= MAX_EXAMPLE_CHARS ? written : null,
    };
  } catch (error) {
    // Schemas may be nested deeper than the stack.
    if (error instanceof RangeError) return null;
    throw error;
  }
};
