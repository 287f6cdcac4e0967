import type { Usage } from '../../canonical/events/usage.ts';
import { writeJsonSteps } from '../../kit/json/json-writer.ts';
import type { Sliced } from '../../kit/async/event-loop.ts';
import type { Frame } from '../../turns/api.ts';

/** Marks usage that this server counted itself: in a header, or in a comment if the headers are already sent. */
export const COUNTED = { header: 'x-proxy-usage', value: 'counted' } as const;

/** The note for a frame with the usage of these turns. */
export const usageNote = (turns: readonly { readonly usage: Usage | null }[]): Pick<Frame, 'note'> =>
  turns.some(({ usage }) => usage?.isCounted === true) ? { note: `${COUNTED.header}: ${COUNTED.value}` } : {};

/** Marks an answer that should have been stored, and could not: in a header, or in a comment at the end of a stream. */
export const UNSTORED = { header: 'x-proxy-store', value: 'failed' } as const;

/** The note at the end of the stream of these turns. */
export const storeNote = (turns: readonly { readonly isUnstored?: true }[]): Pick<Frame, 'note'> =>
  turns.some(({ isUnstored }) => isUnstored === true)
    ? { note: `${UNSTORED.header}: ${UNSTORED.value}` }
    : {};

/** The last data of every stream. Some clients wait for it, and no client rejects it. */
export const DONE = '[DONE]';

/** Encodes a large frame in slices, so that the event loop is not blocked. */
export function* encodeFrameSteps(frame: Frame): Sliced<readonly string[]> {
  return [frameHead(frame), ...(yield* writeJsonSteps(frame.data)), '\n\n'];
}

/** Encodes a frame as one string, so that it is written at once and a reader never sees half an event. */
export const encodeFrame = (frame: Frame): string => {
  const data = frame.data === DONE ? DONE : JSON.stringify(frame.data);
  return `${frameHead(frame)}${data}\n\n`;
};

/** The note is a separate block, because simple parsers read only the first line of a block. */
const frameHead = ({ event, note }: Frame): string => {
  const head = event === null ? 'data: ' : `event: ${event}\ndata: `;
  return note === undefined ? head : `: ${note}\n\n${head}`;
};

/** A comment that keeps idle connections open. All clients ignore it. */
export const KEEPALIVE = ': keepalive\n\n';
