import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';

import type { TestProxy } from '../support/proxy.ts';
import { collectSse, eventsOf, type SseFrame } from '../support/sse.ts';

export const ASK = { model: 'gpt-5.5', input: 'Say something.' };

/** Ends a hang; not a measurement. */
const DEADLINE_MS = 30_000;

/** Reads an answer that is not a stream, or an error: status, relevant headers, body. */
export const askWhole = async (proxy: TestProxy, body: object = ASK) => {
  const signal = AbortSignal.timeout(DEADLINE_MS);
  const response = await proxy.post('/v1/responses', body, { signal });
  return {
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
    body: (await response.json()) as Record<string, unknown>,
  };
};

/** The same request as a stream, read to its end. */
export const askStream = async (proxy: TestProxy, body: object = ASK) => {
  const signal = AbortSignal.timeout(DEADLINE_MS);
  const response = await proxy.post('/v1/responses', { ...body, stream: true }, { signal });
  const frames = await collectSse(response);
  return { status: response.status, frames };
};

/** The text of a stream's deltas. */
export const textIn = (frames: readonly SseFrame[]): string =>
  eventsOf(frames)
    .filter((event) => event['type'] === 'response.output_text.delta')
    .map((event) => String(event['delta']))
    .join('');

/** How a stream ends: the types of its last frames, and the error if any. */
export const endOf = (frames: readonly SseFrame[]) => {
  const error = eventsOf(frames.filter((frame) => frame.event === 'error'))[0]?.['error'];
  return { last: frames.slice(-3).map((frame) => frame.event), error };
};

/** A client that has sent its request and reads only on demand. */
export interface RawClient {
  readonly response: Promise<IncomingMessage>;
  destroy(): void;
}

export const sendRaw = (proxy: TestProxy, body: object): RawClient => {
  const http = httpRequest(`${proxy.url}/v1/responses`, {
    agent: false,
    method: 'POST',
    headers: { authorization: `Bearer ${proxy.key}`, 'content-type': 'application/json' },
  });
  // Its own disconnect must not fail the test.
  http.on('error', () => {});
  http.end(JSON.stringify(body));
  const response = once(http, 'response').then(([first]: IncomingMessage[]) => {
    if (first === undefined) throw new Error('no response');
    return first;
  });
  // A client that disconnects before the answer does not wait for it.
  response.catch(() => {});
  return {
    response,
    destroy: () => http.destroy(),
  };
};

/** A connection on which half of a request's body was sent. */
export const sendHalf = async (proxy: TestProxy): Promise<Socket> => {
  const { hostname, port } = new URL(proxy.url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const body = JSON.stringify(ASK);
  socket.write(
    [
      'POST /v1/responses HTTP/1.1',
      `host: ${hostname}`,
      `authorization: Bearer ${proxy.key}`,
      'content-type: application/json',
      `content-length: ${body.length}`,
      '',
      body.slice(0, 10),
    ].join('\r\n'),
  );
  return socket;
};
