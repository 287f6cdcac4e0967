import type { ServerResponse } from 'node:http';

import { isPassedOn } from '../answer/passed-on.ts';

/**
 * Writes a streamed answer to its socket, no faster than the client reads. Hono's adapter sends the head by itself; here it
 * goes out with the first chunk, if that is ready in this turn of the event loop.
 */
export const writeStream = async (
  { status, headers, body }: Response,
  outgoing: ServerResponse,
): Promise<void> => {
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  let resume = (): void => {};
  const leave = async (): Promise<void> => {
    resume();
    // It fails if the stream has failed already.
    await reader.cancel().catch(() => {});
  };
  // The listeners stay: a write may still fail after the end.
  outgoing.on('close', () => void leave());
  outgoing.on('error', () => void leave());
  outgoing.on('drain', () => resume());
  if (outgoing.destroyed) {
    await leave();
    return;
  }
  outgoing.writeHead(status, Object.fromEntries(headers));
  // A turn that is still silent: the client must see that its request was accepted.
  const head = setImmediate(() => outgoing.flushHeaders());
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      clearImmediate(head);
      if (outgoing.write(next.value) || outgoing.destroyed) continue;
      await new Promise<void>((resolve) => {
        resume = resolve;
      });
    }
    if (!outgoing.destroyed) outgoing.end();
  } catch {
    // The client must at least see the stream break.
    outgoing.destroy();
  } finally {
    clearImmediate(head);
  }
};

export const isStream = (response: Response): boolean =>
  isPassedOn(response) ||
  (response.body !== null && response.headers.get('content-type')?.startsWith('text/event-stream') === true);
