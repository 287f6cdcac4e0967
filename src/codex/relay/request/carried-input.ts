import { isJsonObject, type Json } from '../../../kit/json/json.ts';

/** The input of a model request of the app-server, around the placeholder of its turn. */
export interface CarriedInput {
  /** The item that holds tools in the codex format, if there is one. */
  readonly tools: readonly Json[];
  /** Number of other items before the placeholder: earlier turns of the thread, or additions of the app-server. */
  readonly before: number;
  /** What the app-server added after it in this turn. */
  readonly after: readonly Json[];
  /** The input without the items before the placeholder. */
  readonly own: readonly Json[];
}

/** Null if the placeholder is not there exactly once: then it is unknown whose input this is. */
export const carriedInput = (input: readonly Json[], placeholder: string): CarriedInput | null => {
  const isPlaceholder = (entry: Json): boolean => isJsonObject(entry) && entry['id'] === placeholder;
  const at = input.findIndex(isPlaceholder);
  if (at === -1 || input.findLastIndex(isPlaceholder) !== at) return null;
  const [first] = input;
  const tools = at > 0 && isJsonObject(first) && first['type'] === 'additional_tools' ? [first] : [];
  const own = [...tools, ...input.slice(at)];
  return { tools, before: at - tools.length, after: input.slice(at + 1), own };
};
