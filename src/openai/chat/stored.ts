import type { JsonObject } from '../../kit/json/json.ts';
import { metadata } from '../shared/field-schemas.ts';
import { parseBody } from '../../apis/validation.ts';

/** A chat completion that was created with `store: true`. */
export interface ShownChat {
  readonly id: string;
  /** The answer as its client got it. */
  readonly object: JsonObject;
  readonly metadata: Readonly<Record<string, string>>;
}

export const projectStoredChat = ({ id, object, metadata: pairs }: ShownChat) => ({
  ...object,
  id,
  metadata: pairs,
});

export const projectDeletedChat = (id: string) => ({
  object: 'chat.completion.deleted' as const,
  id,
  deleted: true,
});

/** A message of the request. A list of parts has a field of its own. */
export const projectStoredMessage = (message: JsonObject, id: string) => {
  const { content = null, refusal = null, name = null } = message;
  const hasParts = Array.isArray(content);
  return {
    ...message,
    id,
    content: hasParts ? null : content,
    refusal,
    name,
    content_parts: hasParts ? content : null,
  };
};

/** The messages of a completion with their ids. */
export const withMessageIds = (
  completionId: string,
  messages: readonly JsonObject[],
): readonly { readonly id: string; readonly message: JsonObject }[] =>
  messages.map((message, index) => ({ id: `${completionId}-${index}`, message }));

/** Reads the filter `metadata[key]=value` of a query. Throws if it is invalid. */
export const readMetadataFilter = (query: URLSearchParams): Readonly<Record<string, string>> =>
  parseBody(
    metadata,
    query.has('metadata')
      ? query.get('metadata')
      : Object.fromEntries(
          [...query].flatMap(([name, value]) => {
            const key = /^metadata\[(.*)\]$/s.exec(name)?.[1];
            return key === undefined ? [] : [[key, value]];
          }),
        ),
    'metadata',
  );
