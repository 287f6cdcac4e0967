import type { Usage } from '../../canonical/events/usage.ts';
import { writeJsonSteps } from '../../kit/json/json-writer.ts';
import type { Sliced } from '../../kit/async/event-loop.ts';
import type { Frame } from '../../turns/api.ts';

/**
 * The usage in the frame was counted by this server. The answer's head says it in the header of the same name where that
 * is known in advance; a stream's head is sent long before.
 */
export const COUNTED = { header: 'x-proxy-usage', value: 'counted' } as const;

/** The note of a frame with the usage of these turns. */
export const usageNote = (turns: readonly { readonly usage: Usage | null }[]): Pick<Frame, 'note'> =>
  turns.some(({ usage }) => usage?.isCounted === true) ? { note: `${COUNTED.header}: ${COUNTED.value}` } : {};

/** The last word of every stream. Some clients wait for it, none mind it. */
export const DONE = '[DONE]';

/** The text of a frame that holds a book, made in steps. */
export function* encodeFrameSteps(frame: Frame): Sliced<readonly string[]> {
  return [frameHead(frame), ...(yield* writeJsonSteps(frame.data)), '\n\n'];
}

/** The frame's whole text, so that it is written at once: a reader never sees half an event. */
export const encodeFrame = (frame: Frame): string => {
  const data = frame.data === DONE ? DONE : JSON.stringify(frame.data);
  return `${frameHead(frame)}${data}\n\n`;
};

/** A note is a block of its own: simple parsers look at the first line of a block only. */
const frameHead = ({ event, note }: Frame): string => {
  const head = event === null ? 'data: ' : `event: ${event}\ndata: `;
  return note === undefined ? head : `: ${note}\n\n${head}`;
};

/** A comment: keeps idle connections open and is ignored by every client. */
export const KEEPALIVE = ': keepalive\n\n';
