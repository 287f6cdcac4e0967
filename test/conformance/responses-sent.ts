import type { ModelServer } from '../../src/demo/model-server.ts';
import { isJsonObject, type JsonObject } from '../../src/kit/json/json.ts';

/** The newest model request. */
export const sentBody = ({ requests }: ModelServer): JsonObject => {
  const newest = requests.at(-1);
  if (newest === undefined) throw new Error('the model was not asked');
  return newest.body;
};

export const objectsIn = (value: unknown): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter((one) => isJsonObject(one)) : [];

/** codex assigns an id to every item; the model does not see it. */
export const withoutId = (item: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(item).filter(([name]) => name !== 'id'));

/** The conversation that reached the model. */
export const sentItems = (model: ModelServer): readonly JsonObject[] =>
  objectsIn(sentBody(model)['input']).map(withoutId);
