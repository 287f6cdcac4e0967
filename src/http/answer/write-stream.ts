import type { ServerResponse } from 'node:http';

const responses = new WeakSet<Response>();

/**
 * A response whose body comes from another server. It is written piece by piece, and breaks off if the body does: Hono's
 * adapter would end a body that fails early as if it were complete.
 */
export const passedOn = (
  body: ReadableStream<Uint8Array>,
  init: { readonly status: number; readonly headers: Readonly<Record<string, string>> },
): Response => {
  const response = new Response(body, init);
  responses.add(response);
  return response;
};

const isPassedOn = (response: Response): boolean => responses.has(response);

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
