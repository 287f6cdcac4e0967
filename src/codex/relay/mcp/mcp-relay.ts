import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';

import { request as send, type Dispatcher } from 'undici';

import { gatewayError } from '../../../canonical/failure/failure.ts';
import { secretHider } from '../../../kit/text/hide-secrets.ts';
import { endToEnd, type Headers } from '../../end-to-end-headers.ts';
import { safeMessage } from '../../failures/safe-message.ts';
import { silentFor } from '../../failures/mcp-error.ts';
import { readErrorBody } from '../../failures/read-error.ts';
import { whyUnreachable } from '../../failures/unreachable.ts';
import { newSecret, notFound, startLoopback } from '../../loopback.ts';
import { codeOf, isConnectionError, readShortBody } from '../transport/connection.ts';
import { IdleTimeout } from '../transport/idle-timeout.ts';

/**
 * A local server between the app-server and MCP servers over HTTP. The app-server may trust only one
 * certificate, follows all redirects, and logs what it receives: so it gets local URLs, while this relay
 * holds the real URLs, tokens and certificates.
 */
export interface McpRelay {
  /** Makes the server reachable through the relay. Throws a GatewayError if there are too many. */
  open(target: McpUpstream): ClientMcpRoute;
  close(): Promise<void>;
}

export interface McpUpstream {
  readonly url: string;
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Secrets in the headers and URL, removed from the server's error messages. */
  readonly secrets: readonly string[];
  readonly dispatcher: Dispatcher;
  /** Idle timeout while a response is pending. */
  readonly idleMs: number;
  /** Called when nothing more will be sent to the server. */
  readonly onClosed?: () => void;
}

export interface ClientMcpRoute {
  /** The URL for the app-server. Contains a secret. */
  readonly address: string;
  /** Why the last message to the server failed, as the end of a sentence about it; null if it was answered. */
  readonly lastError: string | null;
  /** Aborts requests in progress and accepts only the end of a session afterwards. */
  close(): void;
}

export interface McpRelayOptions {
  /** Called for an unexpected exception. */
  readonly onBug: (error: unknown) => void;
  /** Maximum number of open servers. Set by tests. */
  readonly maxMcpRoutes?: number;
}

/** Clients may name servers too, a few per running turn. */
const MAX_ROUTES = 4_096;
/** A server's own event stream may be silent for any time: its thread ends it. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;
const MAX_QUOTED = 300;
/** The app-server ends its MCP session shortly after its thread is closed. */
const SESSION_END_MS = 5_000;

export const startMcpRelay = async ({
  onBug,
  maxMcpRoutes = MAX_ROUTES,
}: McpRelayOptions): Promise<McpRelay> => {
  const mcpRoutes = new Map<string, McpRoute>();
  const loopback = await startLoopback({
    async serve(handle, incoming, outgoing) {
      // Other paths, such as sign-in discovery, do not exist.
      const mcpRoute = mcpRoutes.get(handle);
      if (mcpRoute?.takes(incoming.method) === true) await mcpRoute.pass(incoming, outgoing);
      else notFound(outgoing);
    },
    onError: onBug,
    // A call may take as long as its server's timeout allows.
    requestTimeout: 0,
  });
  return {
    open(target) {
      if (mcpRoutes.size >= maxMcpRoutes) {
        throw gatewayError('server_overloaded', { message: 'Too many MCP servers are in use at once.' });
      }
      const handle = newSecret();
      const mcpRoute = new McpRoute(target);
      mcpRoutes.set(handle, mcpRoute);
      return {
        address: `${loopback.origin}/${handle}`,
        get lastError() {
          return mcpRoute.lastError;
        },
        close() {
          mcpRoute.close(() => mcpRoutes.delete(handle));
        },
      };
    },
    async close() {
      for (const mcpRoute of mcpRoutes.values()) mcpRoute.forget();
      mcpRoutes.clear();
      await loopback.close();
    },
  };
};

class McpRoute {
  readonly #target: McpUpstream;
  readonly #closed = new AbortController();
  #forgetting: NodeJS.Timeout | undefined;
  lastError: string | null = null;

  constructor(target: McpUpstream) {
    this.#target = target;
  }

  takes(method: string | undefined): boolean {
    return method === 'DELETE' || !this.#closed.signal.aborted;
  }

  close(onClosed: () => void): void {
    if (this.#closed.signal.aborted) return;
    this.#closed.abort();
    this.#forgetting = setTimeout(() => {
      onClosed();
      this.forget();
    }, SESSION_END_MS).unref();
  }

  forget(): void {
    clearTimeout(this.#forgetting);
    this.#target.onClosed?.();
  }

  /** Forwards one request and streams the answer back byte for byte. */
  async pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = 'POST' } = incoming;
    const gone = new AbortController();
    outgoing.on('close', () => gone.abort());
    const left = method === 'DELETE' ? gone.signal : AbortSignal.any([gone.signal, this.#closed.signal]);
    const idleTimeout = new IdleTimeout(method === 'GET' ? NO_TIMEOUT_MS : this.#target.idleMs, left);
    try {
      await this.#exchange(method, incoming, outgoing, idleTimeout);
    } catch (error) {
      if (!idleTimeout.isAtEnd && !left.aborted) {
        if (!isConnectionError(error)) throw error;
        this.#note(method, `could not be reached: ${whyUnreachable(codeOf(error))}`);
      }
      if (idleTimeout.isAtEnd) {
        this.#note(method, silentFor(this.#target.idleMs));
      }
      if (outgoing.headersSent || left.aborted) outgoing.destroy();
      else outgoing.writeHead(502).end('the MCP server gave no answer');
    } finally {
      idleTimeout.stop();
    }
  }

  async #exchange(
    method: string,
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    idleTimeout: IdleTimeout,
  ): Promise<void> {
    const { url, headers, dispatcher } = this.#target;
    const answer = await send(url, {
      method,
      headers: { ...toServer(incoming.headers), ...lowerCased(headers) },
      body: method === 'POST' ? incoming : null,
      signal: idleTimeout.signal,
      dispatcher,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    idleTimeout.heard();
    const { statusCode } = answer;
    if (statusCode >= 300 && statusCode < 400) {
      answer.body.on('error', () => {}).destroy();
      this.#note(method, 'answered with a redirect, which is not followed');
      outgoing.writeHead(502).end('a redirect is not followed');
      return;
    }
    if (statusCode >= 400) {
      // The app-server logs it.
      const body = secretHider(this.#target.secrets)((await readShortBody(answer)).toString('utf8'));
      this.#note(method, refusal(statusCode, body));
      const { 'content-length': _, ...back } = toAppServer(answer);
      outgoing.writeHead(statusCode, back).end(body);
      return;
    }
    this.#note(method, null);
    outgoing.writeHead(statusCode, toAppServer(answer));
    // The first event of a stream may arrive much later.
    outgoing.flushHeaders();
    for await (const chunk of answer.body as AsyncIterable<Buffer>) {
      idleTimeout.heard();
      if (!outgoing.write(chunk)) {
        await idleTimeout.without(once(outgoing, 'drain', { signal: idleTimeout.signal }));
      }
    }
    outgoing.end();
  }

  /** Only messages count: a server may have no event stream and no session end. */
  #note(method: string, lastError: string | null): void {
    if (method === 'POST') this.lastError = lastError;
  }
}

/** The headers that MCP defines. Others are the app-server's own, such as its placeholder token. */
const PASSED = /^(?:accept|content-type|content-length|last-event-id|user-agent|mcp-.*)$/;

const toServer = (headers: IncomingMessage['headers']): Headers =>
  Object.fromEntries(Object.entries(endToEnd(headers)).filter(([name]) => PASSED.test(name)));

/** Header names are case-insensitive, and none may be sent twice. */
const lowerCased = (headers: McpUpstream['headers']): Headers =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

/** Removes headers that would make the app-server sign in by itself. */
const toAppServer = (answer: Dispatcher.ResponseData): Headers => {
  const { 'set-cookie': _cookies, 'www-authenticate': _signIn, ...headers } = endToEnd(answer.headers);
  return headers;
};

const refusal = (status: number, body: string): string => {
  const words = safeMessage(readErrorBody(body).message ?? '', [])
    .trim()
    .slice(0, MAX_QUOTED);
  if (status === 401) return 'refused the credentials (HTTP 401)';
  return `answered HTTP ${status}${words === '' ? '' : `: ${words.toWellFormed()}`}`;
};
