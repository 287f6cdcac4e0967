import { gatewayError } from '../canonical/failure/failure.ts';
import type { Item } from '../canonical/request/item.ts';
import { append } from '../kit/collections/lists.ts';

export interface ClientPrompt {
  readonly instructions: string | null;
  readonly items: readonly Item[];
  /** The location of each item in the body. */
  readonly places: readonly string[];
}

/**
 * Removes instructions, system and developer messages for deployments that do not allow them, and adds their names to
 * `ignored`. Throws if no message would be left.
 */
export const acceptedPrompt = (
  prompt: ClientPrompt,
  { ignoreClientPrompt }: { readonly ignoreClientPrompt: boolean },
  ignored: string[],
): ClientPrompt => {
  if (!ignoreClientPrompt) return prompt;
  const isPrompt = (item: Item | undefined): boolean =>
    item?.kind === 'message' && (item.role === 'system' || item.role === 'developer');
  const { items, places } = prompt;
  const [firstPlace] = places;
  if (items.every(isPrompt) && firstPlace !== undefined) {
    throw gatewayError('invalid_value', {
      param: firstPlace,
      message: `Invalid '${firstPlace}': this server ignores system and developer messages, and the request contains no other message. Send a user message.`,
    });
  }
  if (prompt.instructions !== null) ignored.push('instructions');
  append(
    ignored,
    places.filter((_, index) => isPrompt(items[index])),
  );
  return {
    instructions: null,
    items: items.filter((item) => !isPrompt(item)),
    places: places.filter((_, index) => !isPrompt(items[index])),
  };
};
