import { writeJsonSteps } from '../kit/json-writer.ts';
import type { Steps } from '../kit/loop-turns.ts';

/** One server-sent event before it is bytes. */
export interface Frame {
  /** Null: a frame without an `event:` line, as Chat sends them. */
  readonly event: string | null;
  readonly data: unknown;
}

/** The last word of every stream. Some clients wait for it, none mind it. */
export const DONE = '[DONE]';

/** The text of a frame that holds a book, made in steps. */
export function* encodeFrameSteps(frame: Frame): Steps<readonly string[]> {
  const head = frame.event === null ? 'data: ' : `event: ${frame.event}\ndata: `;
  return [head, ...(yield* writeJsonSteps(frame.data)), '\n\n'];
}

/** The frame's whole text, so that it is written at once: a reader never sees half an event. */
export const encodeFrame = (frame: Frame): string => {
  const data = frame.data === DONE ? DONE : JSON.stringify(frame.data);
  return frame.event === null ? `data: ${data}\n\n` : `event: ${frame.event}\ndata: ${data}\n\n`;
};

/** A comment: keeps idle connections open and is ignored by every client. */
export const KEEPALIVE = ': keepalive\n\n';
