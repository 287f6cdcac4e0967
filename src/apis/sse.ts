import type { Usage } from '../canonical/events/usage.ts';
import { isHeavy, writeJsonSteps } from '../kit/json/json-writer.ts';
import type { Sliced } from '../kit/async/event-loop.ts';
import type { Frame, FrameNote } from '../turns/api.ts';
import type { Failure } from '../canonical/failure/failure.ts';

/** Marks usage that this server counted itself: in a header, or in a comment if the headers are already sent. */
export const COUNTED = { header: 'x-proxy-usage', value: 'counted' } as const;

/** The note for a frame with the usage of these turns. */
export const usageNote = (turns: readonly { readonly usage: Usage | null }[]): FrameNote =>
  turns.some(({ usage }) => usage?.isCounted === true) ? { note: `${COUNTED.header}: ${COUNTED.value}` } : {};

/** Marks an answer that should have been stored, and could not: in a header, or in a comment at the end of a stream. */
export const UNSTORED = { header: 'x-proxy-store', value: 'failed' } as const;

/** The note at the end of the stream of these turns. */
export const storeNote = (turns: readonly { readonly isUnstored?: true }[]): FrameNote =>
  turns.some(({ isUnstored }) => isUnstored === true)
    ? { note: `${UNSTORED.header}: ${UNSTORED.value}` }
    : {};

/** The last data of every stream. Some clients wait for it, and no client rejects it. */
export const DONE = '[DONE]';

/** Encodes a large frame in slices, so that the event loop is not blocked. */
export function* encodeFrameSteps(frame: Frame): Sliced<readonly string[]> {
  if (frame.text !== undefined) return slices(frame.text);
  return [frameHead(frame), ...(yield* writeJsonSteps(frame.data)), '\n\n'];
}

/** Encodes a frame as one string, so that it is written at once and a reader never sees half an event. */
export const encodeFrame = (frame: Frame): string => {
  if (frame.text !== undefined) return frame.text;
  const data = frame.data === DONE ? DONE : JSON.stringify(frame.data);
  return `${frameHead(frame)}${data}\n\n`;
};

/** Whether a frame is too large to be encoded at once. */
export const isHeavyFrame = ({ data, text }: Frame, chars: number): boolean =>
  text === undefined ? isHeavy(data, chars) : text.length > chars;

const SLICE_CHARS = 32 * 1024;

/** Keeps surrogate pairs together. */
const slices = (text: string): readonly string[] => {
  const all: string[] = [];
  for (let at = 0; at < text.length;) {
    const end = at + SLICE_CHARS;
    const code = text.charCodeAt(end - 1);
    const next = code >= 0xd800 && code <= 0xdbff ? end + 1 : end;
    all.push(text.slice(at, next));
    at = next;
  }
  return all;
};

/** The note is a separate block, because simple parsers read only the first line of a block. */
const frameHead = ({ event, note }: Frame): string => {
  const head = event === null ? 'data: ' : `event: ${event}\ndata: `;
  return note === undefined ? head : `: ${note}\n\n${head}`;
};

/** A comment that keeps idle connections open. All clients ignore it. */
export const KEEPALIVE = ': keepalive\n\n';

/** The headers of an error: those of its failure, and when to try again. */
export const errorHeaders = ({ headers, retryAfterSeconds }: Failure): Readonly<Record<string, string>> => ({
  ...headers,
  ...(retryAfterSeconds === null ? {} : { 'retry-after': String(retryAfterSeconds) }),
});
