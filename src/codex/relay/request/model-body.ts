import { isJsonObject, type JsonObject } from '../../../kit/json/json.ts';
import { jsonBytesSteps } from '../../../kit/json/json-writer.ts';
import { readJsonSteps } from '../../../kit/json/json-reader.ts';
import { runSliced } from '../../../kit/async/event-loop.ts';

/** Parsed at once in less than a millisecond. */
const SHORT_BYTES = 64 * 1024;

/** Parses a model request in slices, because it may be long. Null: not a JSON object. */
export const readModelBody = async (
  bytes: Uint8Array,
  signal: AbortSignal | null,
): Promise<JsonObject | null> => {
  try {
    const value: unknown =
      bytes.length <= SHORT_BYTES
        ? JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8'))
        : await runSliced(readJsonSteps(bytes), signal);
    return isJsonObject(value) ? value : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
};

export const writeModelBody = (body: JsonObject, signal: AbortSignal): Promise<Uint8Array> =>
  runSliced(jsonBytesSteps(body), signal);
