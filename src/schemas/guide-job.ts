import type { Guidance } from '../engine/prose-tools/tool-guide.ts';
import { parseJsonObject } from '../kit/json/json.ts';
import { describeParameters } from './describe-parameters.ts';
import { sampleArguments } from './sample-value.ts';

/** An example that is longer shows less than it takes. */
const MAX_EXAMPLE_CHARS = 2_000;

/** The prose description of the parameters of a tool; null: the schema is too odd. */
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
    // Schemas may be deeper than the stack.
    if (error instanceof RangeError) return null;
    throw error;
  }
};
