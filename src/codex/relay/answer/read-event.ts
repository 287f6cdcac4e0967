import { isJsonObject, parseJsonObject, type JsonObject } from '../../../kit/json/json.ts';
import { JsonLimitError, readJsonSteps, type JsonLimits } from '../../../kit/json/json-reader.ts';
import { deltaRule } from '../../sources/answer-events.ts';
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
export type ReadEvent = JsonObject | null | BeyondLimit;

/** The type of an event that begins with it, as most do: then not all of the data has to be parsed for it. */
export const firstType = (data: string): string | null => FIRST_TYPE.exec(data)?.[1] ?? null;

const FIRST_TYPE = /^\s*\{\s*"type"\s*:\s*"([\w.]+)"/;

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

const KEEPALIVES = new Set(['keepalive', 'ping']);

/** Whether an event is only a keepalive, like an SSE comment. */
export const isKeepalive = (type: string | null): boolean => type !== null && KEEPALIVES.has(type);

const ITEM_EVENT = /^response\.\w+\.\w+$/;

/** Whether an event is about an item that has not ended, or keeps a connection alive. */
export const isPreview = (type: string | null): boolean =>
  type !== null &&
  (deltaRule(type) !== null ||
    isKeepalive(type) ||
    (ITEM_EVENT.test(type) && type !== 'response.output_item.done'));

const NEUTRAL = /^(?:response\.(?:created|in_progress|queued|metadata)|codex\..*|responsesapi\..*)$/;

/** Whether an event comes before the actual answer. Until another one arrives, a request may be sent again. */
export const isNeutral = (type: string | null): boolean =>
  type !== null && (NEUTRAL.test(type) || isKeepalive(type));
