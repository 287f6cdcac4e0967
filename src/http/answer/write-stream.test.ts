import { EventEmitter, once } from 'node:events';
import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterEach, describe, expect, it, vi } from 'vitest';

import type { Frame } from '../../turns/api.ts';
import { sseResponse } from './sse-response.ts';
import { isStream, writeStream } from './write-stream.ts';

let server: Server | null = null;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A response whose chunks are sent by the test. */
const stream = () => {
  const cancelled = Promise.withResolvers<void>();
  let controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  const body = new ReadableStream<Uint8Array>(
    {
      start(one) {
        controller = one;
      },
      cancel: () => cancelled.resolve(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: 1024 }),
  );
  const response = new Response(body, { headers: { 'content-type': 'text/event-stream', 'x-a': 'b' } });
  const sent = controller as unknown as ReadableStreamDefaultController<Uint8Array>;
  return { response, sent, cancelled: cancelled.promise };
};

/** Serves the response to one client. */
const serve = async (response: Response) => {
  const served = Promise.withResolvers<ServerResponse>();
  server = createServer((_, outgoing) => {
    vi.spyOn(outgoing, 'flushHeaders');
    served.resolve(outgoing);
    writeStream(response, outgoing);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const request = get({ port: (server.address() as AddressInfo).port, agent: false });
  request.on('error', () => {});
  const [incoming]: IncomingMessage[] = await once(request, 'response');
  if (incoming === undefined) throw new Error('no response');
  return { request, incoming, outgoing: await served.promise };
};

const textOf = async (incoming: IncomingMessage): Promise<string> => {
  let text = '';
  for await (const chunk of incoming) text += String(chunk);
  return text;
};

describe('writeStream', () => {
  it('sends the head with the first chunk', async () => {
    const { response, sent } = stream();
    sent.enqueue(bytesOf('one'));
    const { incoming, outgoing } = await serve(response);
    sent.enqueue(bytesOf(' two'));
    sent.close();
    expect([incoming.statusCode, incoming.headers['x-a'], await textOf(incoming)]).toEqual([
      200,
      'b',
      'one two',
    ]);
    expect(outgoing.flushHeaders).not.toHaveBeenCalled();
  });

  it('sends the head of a silent stream at once', async () => {
    const { response, sent } = stream();
    const { incoming, outgoing } = await serve(response);
    expect(outgoing.flushHeaders).toHaveBeenCalledOnce();
    sent.enqueue(bytesOf('late'));
    sent.close();
    expect(await textOf(incoming)).toBe('late');
  });

  it('reads no further than the client does', async () => {
    const { response, sent, cancelled } = stream();
    sent.enqueue(bytesOf('x'));
    const { incoming, request } = await serve(response);
    incoming.pause();
    const chunk = new Uint8Array(256 * 1024);
    let chunks = 0;
    // Socket buffers hold some megabytes; far more is never taken.
    for (; (sent.desiredSize ?? 0) > 0 && chunks < 400; chunks += 1) {
      sent.enqueue(chunk);
      await new Promise((resolve) => {
        setTimeout(resolve, 5);
      });
    }
    expect(chunks).toBeLessThan(400);
    request.destroy();
    await cancelled;
  });

  it('cancels the stream of a client that has left', async () => {
    const { response, cancelled } = stream();
    const { request } = await serve(response);
    request.destroy();
    await expect(cancelled).resolves.toBeUndefined();
  });

  it('breaks off if the stream fails', async () => {
    const { response, sent } = stream();
    sent.enqueue(bytesOf('half'));
    const { incoming } = await serve(response);
    sent.error(new Error('a bug'));
    await expect(textOf(incoming)).rejects.toThrow('aborted');
  });
});

describe('a body that writes itself', () => {
  const text = (value: string): Frame => ({ event: null, data: value });
  const respond = (frames: AsyncIterable<Frame>, onGone: () => void = () => {}): Response =>
    sseResponse(frames, {
      keepaliveMs: 60_000,
      headers: { 'x-a': 'b' },
      onGone,
      onEnd() {},
      onBug() {},
      endOfBroken: null,
    });

  it('gets to the client without a web stream, its head with the first frames', async () => {
    async function* frames(): AsyncGenerator<Frame> {
      yield text('é');
      yield text('two');
    }
    const response = respond(frames());
    vi.spyOn(response.body as ReadableStream, 'getReader');
    const { incoming, outgoing } = await serve(response);
    expect([incoming.statusCode, incoming.headers['x-a'], await textOf(incoming)]).toEqual([
      200,
      'b',
      'data: "é"\n\ndata: "two"\n\n',
    ]);
    expect(outgoing.flushHeaders).not.toHaveBeenCalled();
    expect(response.body?.getReader).not.toHaveBeenCalled();
  });

  it('sends the head of a silent stream at once, and each frame when it is there', async () => {
    const second = Promise.withResolvers<void>();
    async function* frames(): AsyncGenerator<Frame> {
      await second.promise;
      yield text('late');
    }
    const { incoming, outgoing } = await serve(respond(frames()));
    expect(outgoing.flushHeaders).toHaveBeenCalledOnce();
    second.resolve();
    expect(await textOf(incoming)).toBe('data: "late"\n\n');
  });

  it('reads its frames no further than the client does, and is left with it', async () => {
    const gone = Promise.withResolvers<void>();
    let asked = 0;
    async function* endless(): AsyncGenerator<Frame> {
      for (; asked < 100_000; asked += 1) yield text('x'.repeat(10_000));
    }
    const { incoming, request } = await serve(respond(endless(), gone.resolve));
    incoming.pause();
    let before = -1;
    // Until nothing more is taken: socket buffers hold some megabytes.
    while (before !== asked) {
      before = asked;
      await new Promise((resolve) => {
        setTimeout(resolve, 100);
      });
    }
    expect(asked).toBeLessThan(100_000);
    request.destroy();
    await expect(gone.promise).resolves.toBeUndefined();
  });

  it('is left if its client has gone before it is written', async () => {
    const gone = vi.fn<() => void>();
    async function* silent(): AsyncGenerator<Frame> {
      await new Promise(() => {});
      yield text('never');
    }
    const outgoing = Object.assign(new EventEmitter(), { destroyed: true });
    writeStream(respond(silent(), gone), outgoing as unknown as ServerResponse);
    expect(gone).toHaveBeenCalledOnce();
  });
});

describe('isStream', () => {
  it('is true for server-sent events only', () => {
    expect(isStream(stream().response)).toBe(true);
    expect(isStream(Response.json({}))).toBe(false);
    expect(isStream(new Response(null, { headers: { 'content-type': 'text/event-stream' } }))).toBe(false);
  });
});
