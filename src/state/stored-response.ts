import type { Item } from '../canonical/request/item.ts';
import { isJsonObject, type JsonObject } from '../kit/json/json.ts';
import type { ResponseRow } from '../store/store.ts';
import { corrupt, parseBody } from './stored-turn.ts';

/** What a response has besides the items of its turn. */
export interface StoredResponse {
  /** The response object as its client saw it, without its output. */
  readonly object: JsonObject;
  /** The output as its client saw it, if that differs from what the model wrote. */
  readonly shown?: readonly Item[];
}

const FORM = 1;

export const responseBody = (response: StoredResponse): object => ({ form: FORM, ...response });

/** Throws if the row is not what this program wrote. */
export const readResponse = ({ id, body }: Pick<ResponseRow, 'id' | 'body'>): StoredResponse => {
  const { form, object, shown } = parseBody(body, `response ${id}`);
  if (form !== FORM || !isJsonObject(object)) throw corrupt(`response ${id}`);
  return { object, ...(Array.isArray(shown) ? { shown: shown as readonly Item[] } : {}) };
};
