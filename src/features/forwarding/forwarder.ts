import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';

import { request as send, type Dispatcher } from 'undici';

import { GatewayError, gatewayError } from '../../canonical/failure/failure.ts';
import { idleFailure } from '../../codex/failures/classify.ts';
import { hostOf, unreachable } from '../../codex/failures/unreachable.ts';
import { codeOf, isConnectionError } from '../../codex/relay/transport/connection.ts';
import { endToEnd } from '../../codex/end-to-end-headers.ts';
import { IdleTimer } from '../../kit/async/wait.ts';
import { secretHider, hideTokens } from '../../kit/text/hide-secrets.ts';
import { answerStream } from './answer-stream.ts';

export interface ForwarderOptions {
  readonly baseUrl: string;
  /** Null: the provider needs none. */
  readonly apiKey: string | null;
  /** The setting of the base URL, for error messages. */
  readonly setting: string;
  /** The proxy and certificates of the environment. */
  readonly dispatcher: Dispatcher;
  readonly idleTimeoutMs: number;
}

export interface ForwardedRequest {
  /** Follows the base URL, with the query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Opens the body; null: there is none. `onChunk` is called as parts of it are passed on. */
  readonly openBody: (onChunk: () => void) => Readable | null;
  /** Aborted when the client disconnects, or when a shutdown no longer waits. */
  readonly signal: AbortSignal;
  /** Called once, when the answer has ended after it was returned. With the failure, if it was cut off. */
  readonly onEnd: (error: unknown) => void;
}

export interface ForwardedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** An error is whole, anything else is a stream. */
  readonly body: Buffer | ReadableStream<Uint8Array> | null;
}

/** Sends requests to one provider and returns its answers unchanged, except for its key. */
export class Forwarder {
  readonly #options: ForwarderOptions;
  readonly #host: string;
  readonly #hide: (text: string) => string;

  constructor(options: ForwarderOptions) {
    this.#options = options;
    this.#host = hostOf(options.baseUrl);
    this.#hide = hideKey(options.apiKey);
  }

  /** Throws a failure if there is no answer to pass on. */
  async forward(request: ForwardedRequest): Promise<ForwardedAnswer> {
    const { idleTimeoutMs } = this.#options;
    const late = new AbortController();
    const idleTimer = new IdleTimer(idleTimeoutMs, () =>
      late.abort(new GatewayError(idleFailure(this.#host, idleTimeoutMs))),
    );
    const signal = AbortSignal.any([request.signal, late.signal]);
    const cut = (error: unknown): unknown =>
      failureOf(error, signal, () => this.#failed('cut its answer off'));
    try {
      const answer = await this.#send(request, idleTimer, signal);
      const { statusCode: status, headers, body } = answer;
      if (status >= 300 && status < 400) throw this.#redirected(body);
      if (status >= 400 || hasNoBody(status)) {
        const whole = await this.#whole(answer).catch((error: unknown) => Promise.reject(cut(error)));
        idleTimer.stop();
        return whole;
      }
      const onEnd = (error: unknown): void => request.onEnd(error === null ? null : cut(error));
      return {
        status,
        headers: toClient(headers, this.#hide),
        body: answerStream(body, { idleTimer, idleTimeoutMs, signal, onEnd }),
      };
    } catch (error) {
      idleTimer.stop();
      throw error;
    }
  }

  async #send(
    { path, headers, openBody }: ForwardedRequest,
    idleTimer: IdleTimer,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    const { baseUrl, apiKey, dispatcher } = this.#options;
    try {
      const answer = await send(baseUrl + path, {
        method: 'POST',
        headers: toProvider(headers, apiKey),
        body: openBody(() => idleTimer.heard()),
        signal,
        dispatcher,
        // The idle timer limits the wait instead.
        headersTimeout: 0,
        bodyTimeout: 0,
      });
      idleTimer.heard();
      return answer;
    } catch (error) {
      throw failureOf(error, signal, (code) => new GatewayError(unreachable(this.#host, code)));
    }
  }

  /** An error, or an answer without a body. */
  async #whole({ statusCode, headers, body }: Dispatcher.ResponseData): Promise<ForwardedAnswer> {
    const bytes = await readErrorBytes(body);
    if (bytes === null) throw this.#failed(`answered ${statusCode} with an error that is too large`);
    // The key could be in it.
    if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
      throw this.#failed(`answered ${statusCode} with a compressed error`);
    }
    if (statusCode > 599) throw this.#failed(`answered with the unknown status ${statusCode}`);
    const { 'content-length': _, ...passed } = toClient(headers, this.#hide);
    const text = bytes.toString('utf8');
    const hidden = this.#hide(text);
    return {
      status: statusCode,
      headers: passed,
      body: hasNoBody(statusCode) ? null : hidden === text ? bytes : Buffer.from(hidden),
    };
  }

  /** Following a redirect would send the key to another server. */
  #redirected(body: Readable): GatewayError {
    body.on('error', () => {}).destroy();
    return this.#failed(`answered with a redirect. On the server, check ${this.#options.setting}`);
  }

  #failed(what: string): GatewayError {
    return gatewayError('upstream_error', { message: `The upstream at ${this.#host} ${what}.` });
  }
}

/** The failure for an error of the connection; others are returned unchanged. */
const failureOf = (
  error: unknown,
  signal: AbortSignal,
  ofConnection: (code: string) => GatewayError,
): unknown => {
  if (signal.aborted) return signal.reason;
  if (error instanceof GatewayError || !isConnectionError(error)) return error;
  return ofConnection(codeOf(error));
};

/** HTTP forbids a body with these. */
const hasNoBody = (status: number): boolean => status === 204 || status === 205;

/** Far more than any error needs. */
const MAX_ERROR_BYTES = 256 * 1024;

/** The whole body of an error; null if it is too large. */
export const readErrorBytes = async (body: Readable): Promise<Buffer | null> => {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    // Leaving the loop closes the connection.
    if (size > MAX_ERROR_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

/** Hides the provider's key in text, also one that the provider itself has masked in part. */
export const hideKey = (apiKey: string | null): ((text: string) => string) => {
  const hide = secretHider(apiKey === null ? [] : [apiKey]);
  return (text) =>
    hideTokens(hide(text))
      .replaceAll(/\bsk-[\w*-]{6,}/g, 'sk-***')
      .replaceAll(/\b(bearer\s+)[^\s"'\\,;]+/gi, '$1***');
};

/** The headers that describe a request. Others are for this server: the caller's key, cookies, its organization. */
const TO_PROVIDER =
  /^(?:accept|accept-language|content-(?:type|length|encoding|language)|user-agent|idempotency-key|openai-beta|traceparent|tracestate|x-client-request-id|x-stainless-.*)$/;

/** The headers that describe an answer. Others could act on browsers and proxies in the name of this server. */
const TO_CLIENT =
  /^(?:content-(?:type|length|encoding|language|disposition)|cache-control|retry-after(?:-ms)?|x-should-retry|(?:x-)?ratelimit-.*|openai-.*)$/;

/** The headers of a request for a provider, with the provider's key. */
export const toProvider = (headers: IncomingHttpHeaders, apiKey: string | null): Record<string, string> => ({
  ...passed(headers, TO_PROVIDER),
  // Errors are read here, to remove the key.
  'accept-encoding': 'identity',
  ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
});

/** The headers of an answer for the client. `hide` removes secrets. */
export const toClient = (
  headers: IncomingHttpHeaders,
  hide: (text: string) => string,
): Record<string, string> => {
  const requestId = headers['x-request-id'];
  const all = {
    ...passed(headers, TO_CLIENT),
    // This server has an id of its own.
    ...(requestId === undefined ? {} : { 'x-upstream-request-id': String(requestId) }),
  };
  return Object.fromEntries(Object.entries(all).map(([name, value]) => [name, hide(value)]));
};

const passed = (headers: IncomingHttpHeaders, names: RegExp): Record<string, string> =>
  Object.fromEntries(
    Object.entries(endToEnd(headers))
      .filter(([name]) => names.test(name))
      .map(([name, value]) => [name, String(value)]),
  );
