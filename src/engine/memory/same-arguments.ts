import { isJsonObject } from '../../kit/json/json.ts';

/**
 * Whether the arguments that a client sent back are those of the model. The client may have added members, such as
 * defaults, but has changed and removed none.
 */
export const hasSameArguments = (sent: string, own: string): boolean => {
  try {
    return contains(JSON.parse(sent), JSON.parse(own));
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
};

/** As deep as both values are, and the depth of a client's body is limited. */
const contains = (sent: unknown, own: unknown): boolean => {
  if (Array.isArray(own)) {
    return (
      Array.isArray(sent) &&
      sent.length === own.length &&
      own.every((value, index) => contains(sent[index], value))
    );
  }
  if (!isJsonObject(own)) return sent === own;
  if (!isJsonObject(sent)) return false;
  return Object.entries(own).every(([key, value]) => Object.hasOwn(sent, key) && contains(sent[key], value));
};
