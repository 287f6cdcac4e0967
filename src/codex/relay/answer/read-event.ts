import { isJsonObject, parseJsonObject, type JsonObject } from '../../../kit/json/json.ts';
import { JsonLimitError, readJsonSteps, type JsonLimits } from '../../../kit/json/json-reader.ts';
import { atOnce, type Sliced } from '../../../kit/async/event-loop.ts';

/** Limits of an event. The app-server skips events beyond this depth; the others are those of client requests. */
const LIMITS: JsonLimits = { depth: 128, members: 10_000, values: 2_000_000 };
/** Longer events are parsed in slices. */
const LONG_CHARS = 64 * 1024;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;

/** Why an event is not read. */
export type BeyondLimit = 'too-deep' | 'too-wide';

/** Null: not a JSON object. */
type ReadEvent = JsonObject | null | BeyondLimit;

export const isLongEvent = (data: string): boolean => data.length > LONG_CHARS;

/** Parses at once. For events that are not long. */
export const readEvent = (data: string): ReadEvent =>
  hasFewBrackets(data) ? parseJsonObject(data) : atOnce(readLongEvent(data));

/** Parses in slices. */
export function* readLongEvent(data: string): Sliced<ReadEvent> {
  try {
    const value = yield* readJsonSteps(Buffer.from(data), LIMITS);
    return isJsonObject(value) ? value : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    if (error instanceof JsonLimitError) return error.limit === 'depth' ? 'too-deep' : 'too-wide';
    throw error;
  }
}

/** Whether an event is too short or flat to exceed the limits, as most are. */
const hasFewBrackets = (data: string): boolean => {
  let brackets = 0;
  for (let at = 0; at < data.length; at += 1) {
    const code = data.charCodeAt(at);
    if (code !== OPEN_BRACKET && code !== OPEN_BRACE) continue;
    brackets += 1;
    if (brackets > LIMITS.depth) return false;
  }
  return true;
};
