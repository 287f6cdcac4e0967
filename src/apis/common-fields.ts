import type { TurnRequest } from '../canonical/request/turn-request.ts';
import { detectClient, type DetectedClient } from './clients/detect-client.ts';
import { parameterName, type ParameterNames } from './parameters.ts';
import type { WithReferences, RequestBasics } from '../turns/api.ts';
import { gatewayError } from '../canonical/failure/failure.ts';
import type { Item } from '../canonical/request/item.ts';
import { append } from '../kit/collections/lists.ts';

/** The fields that every API has in some form. */
interface BasicFields {
  readonly model: string;
  readonly stream?: boolean | null | undefined;
  readonly n?: number | null | undefined;
}

/** A body after translation to a turn request. */
export interface ReadBody<Parsed extends BasicFields = BasicFields> extends WithReferences {
  readonly parsed: Parsed;
  readonly request: TurnRequest;
  readonly names: ParameterNames;
  /** Fields without effect, by their location in the body. */
  readonly ignored: readonly string[];
}

/** Configured limits of every answer. */
export interface AnswerLimits {
  /** Whether an answer may have several calls. */
  readonly parallelCalls: boolean;
}

interface CommonFields extends RequestBasics {
  readonly client: DetectedClient;
}

/** The fields of a parsed request that all APIs share. */
export const commonFields = (
  { parsed, request, ignored, names }: ReadBody,
  headers: Headers,
  { parallelCalls }: AnswerLimits = { parallelCalls: true },
): CommonFields => {
  const isOneByOne = !parallelCalls && request.tools.length > 0;
  const isOverruled = isOneByOne && request.parallelToolCalls === true;
  return {
    request: isOneByOne ? { ...request, parallelToolCalls: false } : request,
    choices: parsed.n ?? 1,
    model: parsed.model,
    stream: parsed.stream ?? false,
    client: detectClient(headers, request),
    ignored: isOverruled ? [...ignored, names.settings.parallelToolCalls] : ignored,
    nameOf: (path) => parameterName(path, names),
  };
};

interface ClientPrompt {
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
