import type { Part } from '../canonical/request/item.ts';

/** Precedes the output of a failed tool in the model's input. */
const FAILED = 'Error: The tool call failed.';

/** The output of a tool that failed. Backends have no field for a failure, so it is added as text. */
export const failedOutput = (output: string | readonly Part[]): string | readonly Part[] => {
  if (typeof output !== 'string') return [{ kind: 'text', text: FAILED }, ...output];
  return output === '' ? FAILED : `${FAILED}\n${output}`;
};
