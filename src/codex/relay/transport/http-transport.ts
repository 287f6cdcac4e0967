import { request as send, type Dispatcher } from 'undici';

import type { CookieJar } from './cookies.ts';
import type { ModelTransport } from './model-transport.ts';

export interface HttpTransportOptions {
  readonly dispatcher: Dispatcher;
  /** Opens a new connection for every request. */
  readonly freshDispatcher: Dispatcher;
  /** Null: the app-server manages cookies itself. */
  readonly cookies: CookieJar | null;
}

/** Plain HTTP requests. */
export const httpTransport = ({
  dispatcher,
  freshDispatcher,
  cookies,
}: HttpTransportOptions): ModelTransport => ({
  async send({ url, method, headers, body, route, signal, onSending, onHeard }) {
    onSending('http');
    const answer = await send(url, {
      method,
      headers: {
        ...(cookies?.added(headers, url) ?? headers),
        ...(body === null ? {} : { 'content-length': String(body.size) }),
      },
      body: body?.stream ?? null,
      signal,
      dispatcher: route.isFresh ? freshDispatcher : dispatcher,
      // The caller's signal limits the wait instead.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    onHeard('event');
    cookies?.keep(url, answer.headers['set-cookie']);
    return answer;
  },
  warm() {},
  close() {},
});
