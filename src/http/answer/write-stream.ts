import type { ServerResponse } from 'node:http';

/**
 * A response whose body comes from another server. It is written piece by piece, and breaks off if the body does: Hono's
 * adapter would end a body that fails early as if it were complete.
 */
export const passedOn = (
  body: ReadableStream<Uint8Array>,
  init: { readonly status: number; readonly headers: Readonly<Record<string, string>> },
): Response => {
  const response = new Response(body, init);
  passed.add(response);
  return response;
};

const passed = new WeakSet<Response>();

/** The body of an answer that writes itself to the connection of its client. */
export interface SelfWriting {
  writeTo(sink: SocketSink): void;
  /** The client has read what was written. */
  drained(): void;
  /** The client has disconnected, maybe after the end. */
  leave(): void;
}

/** A streamed response. The web stream of its body is for readers in this process: a client gets it without one. */
export const selfWriting = (response: Response, body: SelfWriting): Response => {
  bodies.set(response, body);
  return response;
};

const bodies = new WeakMap<Response, SelfWriting>();

export const isStream = (response: Response): boolean =>
  passed.has(response) ||
  (response.body !== null && response.headers.get('content-type')?.startsWith('text/event-stream') === true);

/** A connection to which an answer is written. Its head goes out with the first bytes, if they are ready in this turn of the event loop. */
export class SocketSink {
  readonly #outgoing: ServerResponse;
  #head: NodeJS.Immediate | null;

  constructor(outgoing: ServerResponse, { status, headers }: Response) {
    this.#outgoing = outgoing;
    outgoing.writeHead(status, Object.fromEntries(headers));
    // A turn that is still silent: the client must see that its request was accepted.
    this.#head = setImmediate(() => outgoing.flushHeaders());
  }

  /** False: nothing should be written before the client has read more. */
  get hasRoom(): boolean {
    return !this.#outgoing.writableNeedDrain;
  }

  write(bytes: Uint8Array | string): void {
    this.#begin();
    this.#outgoing.write(bytes);
  }

  end(): void {
    this.#begin();
    if (!this.#outgoing.destroyed) this.#outgoing.end();
  }

  /** The client must at least see the stream break. */
  fail(): void {
    this.#begin();
    this.#outgoing.destroy();
  }

  #begin(): void {
    if (this.#head !== null) clearImmediate(this.#head);
    this.#head = null;
  }
}

/** Writes a streamed answer to its socket, no faster than the client reads. Hono's adapter would send the head by itself. */
export const writeStream = (response: Response, outgoing: ServerResponse): void => {
  const body = bodies.get(response) ?? new ReadBody(response.body as ReadableStream<Uint8Array>);
  // The listeners stay: a write may still fail after the end.
  outgoing.on('close', () => body.leave());
  outgoing.on('error', () => body.leave());
  outgoing.on('drain', () => body.drained());
  if (outgoing.destroyed) body.leave();
  else body.writeTo(new SocketSink(outgoing, response));
};

/** A body that is read from its web stream. */
class ReadBody implements SelfWriting {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #resume = (): void => {};
  #hasLeft = false;

  constructor(body: ReadableStream<Uint8Array>) {
    this.#reader = body.getReader();
  }

  writeTo(sink: SocketSink): void {
    void this.#write(sink);
  }

  drained(): void {
    this.#resume();
  }

  leave(): void {
    this.#hasLeft = true;
    this.#resume();
    // It fails if the stream has failed already.
    this.#reader.cancel().catch(() => {});
  }

  async #write(sink: SocketSink): Promise<void> {
    try {
      for (let next = await this.#reader.read(); !next.done; next = await this.#reader.read()) {
        sink.write(next.value);
        if (sink.hasRoom || this.#hasLeft) continue;
        await new Promise<void>((resolve) => {
          this.#resume = resolve;
        });
      }
      sink.end();
    } catch {
      sink.fail();
    }
  }
}
