import { isJsonObject, type JsonObject } from '../../kit/json.ts';
import { jsonBytesSteps } from '../../kit/json-bytes.ts';
import { readJsonSteps } from '../../kit/json-reader.ts';
import { inTurns } from '../../kit/loop-turns.ts';

/** A model request holds a whole conversation: it is read and written in turns. Null: no JSON object. */
export const readModelBody = async (bytes: Uint8Array, signal: AbortSignal): Promise<JsonObject | null> => {
  try {
    const value = await inTurns(readJsonSteps(bytes), signal);
    return isJsonObject(value) ? value : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
};

export const writeModelBody = (body: JsonObject, signal: AbortSignal): Promise<Uint8Array> =>
  inTurns(jsonBytesSteps(body), signal);
