import { Agent } from 'undici';
import { afterEach } from 'vitest';

import { CookieJar } from '../../src/codex/relay/transport/cookies.ts';
import { httpTransport } from '../../src/codex/relay/transport/http-transport.ts';
import {
  ANY_ROUTE,
  type ModelTransport,
  type TransportAnswer,
  type TransportRequest,
  Payload,
} from '../../src/codex/relay/transport/model-transport.ts';
import { createDial } from '../../src/codex/relay/transport/websocket/dial.ts';
import { DialPacing } from '../../src/codex/relay/transport/websocket/dial-pacing.ts';
import { SocketPool } from '../../src/codex/relay/transport/websocket/pool.ts';
import { webSocketTransport } from '../../src/codex/relay/transport/websocket/websocket-transport.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { systemAmbient } from '../../src/kit/ambient.ts';
import { startSocketBackend, type SocketBackend, type SocketBackendOptions } from './socket-backend.ts';

interface OpenTransport {
  readonly backend: SocketBackend;
  readonly transport: ModelTransport;
  readonly cookies: CookieJar;
  /** What was reported: dials, fall-backs, and the transports of requests. */
  readonly noted: string[];
  request(body: JsonObject, more?: Partial<TransportRequest>): TransportRequest;
  close(): Promise<void>;
}

/** A transport to a backend of its own. */
const openSocketTransport = async (
  options: SocketBackendOptions & { readonly mode?: 'auto' | 'websocket' } = {},
): Promise<OpenTransport> => {
  const backend = await startSocketBackend(options);
  const { clock } = systemAmbient;
  const noted: string[] = [];
  const cookies = new CookieJar(backend.origin, clock);
  const dispatcher = new Agent();
  const pool = new SocketPool({
    clock,
    pacing: new DialPacing(clock),
    onChange() {},
    onLent() {},
    dial: createDial({
      clock,
      cookies,
      trust: {},
      proxies: { noProxy: '' },
      onDial: (outcome) => noted.push(`dial ${outcome}`),
    }),
  });
  const transport = webSocketTransport({
    mode: options.mode ?? 'auto',
    http: httpTransport({ dispatcher, freshDispatcher: dispatcher, cookies }),
    pool,
    clock,
    onFallback: (reason) => noted.push(`fallback ${reason}`),
  });
  return {
    backend,
    transport,
    cookies,
    noted,
    request: (body, more = {}) => ({
      url: `${backend.origin}/responses`,
      method: 'POST',
      headers: {
        authorization: 'Bearer token',
        'chatgpt-account-id': 'acc',
        'content-type': 'application/json',
        accept: 'text/event-stream',
      },
      body: new Payload(Buffer.from(JSON.stringify(body))),
      isTurn: true,
      route: ANY_ROUTE,
      signal: new AbortController().signal,
      onSending: (name) => noted.push(name),
      onHeard() {},
      ...more,
    }),
    async close() {
      transport.close();
      await dispatcher.destroy();
      await backend.close();
    },
  };
};

/** A new transport for each test. */
export const freshTransports = (): typeof openSocketTransport => {
  const open: OpenTransport[] = [];
  afterEach(async () => {
    for (const one of open.splice(0)) await one.close();
  });
  return async (...options) => {
    const one = await openSocketTransport(...options);
    open.push(one);
    return one;
  };
};

export const textOf = async ({ body }: TransportAnswer): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
};

/** The names of the events of an answer. */
export const eventsOf = async (answer: TransportAnswer): Promise<string[]> =>
  [...(await textOf(answer)).matchAll(/^event: (.*)$/gm)].map(([, name = '']) => name);
