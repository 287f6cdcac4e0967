import { isJsonObject, type JsonObject } from '../../kit/json.ts';
import { readJsonSteps } from '../../kit/json-reader.ts';
import { writeJsonSteps } from '../../kit/json-writer.ts';
import { inTurns } from '../../kit/loop-turns.ts';

/** A model request holds a whole conversation: it is read and written in turns. Null: no JSON object. */
export const readModelBody = async (bytes: Uint8Array): Promise<JsonObject | null> => {
  try {
    const value = await inTurns(readJsonSteps(bytes));
    return isJsonObject(value) ? value : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
};

export const writeModelBody = async (body: JsonObject): Promise<Buffer> => {
  const pieces = await inTurns(writeJsonSteps(body));
  return await inTurns(toBytes(pieces));
};

function* toBytes(pieces: readonly string[]): Generator<void, Buffer> {
  const parts: Buffer[] = [];
  for (const piece of pieces) {
    parts.push(Buffer.from(piece));
    yield;
  }
  return Buffer.concat(parts);
}
