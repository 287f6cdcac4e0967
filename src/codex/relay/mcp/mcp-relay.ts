import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';

import { request as send, type Dispatcher } from 'undici';

import { gatewayError } from '../../../canonical/failure/failure.ts';
import { hideSecrets } from '../../../kit/text/hide-secrets.ts';
import { endToEnd, type Headers } from '../../end-to-end-headers.ts';
import { safeMessage } from '../../failures/safe-message.ts';
import { silentFor } from '../../failures/mcp-error.ts';
import { readErrorBody } from '../../failures/read-error.ts';
import { whyUnreachable } from '../../failures/unreachable.ts';
import { newSecret, notFound, startLoopback } from '../../loopback.ts';
import { codeOf, isConnectionError, readShortBody } from '../transport/connection.ts';
import { IdleTimeout } from '../transport/idle-timeout.ts';

/**
 * A server of ours on loopback, between the app-server and the MCP servers that are reached by HTTP. The
 * app-server may know one certificate only, follows redirects wherever they lead, and keeps what it is
 * told in its logs: so it gets addresses of ours, and tokens, certificates and addresses are our business.
 */
export interface McpRelay {
  /** From now on the server is reached through the relay. Throws a GatewayError if there are too many. */
  open(target: McpUpstream): ClientMcpRoute;
  close(): Promise<void>;
}

export interface McpUpstream {
  readonly url: string;
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Of the headers and the address: hidden in what is said about the server's errors. */
  readonly secrets: readonly string[];
  readonly dispatcher: Dispatcher;
  /** How long it may be silent while it owes an answer. */
  readonly idleMs: number;
  /** Nothing will be sent to it any more. */
  readonly onClosed?: () => void;
}

export interface ClientMcpRoute {
  /** What the app-server is told instead of the server's own address. It cannot be guessed. */
  readonly address: string;
  /** Why the last message to the server came to nothing, as the end of a sentence about it; null: it was answered. */
  readonly lastError: string | null;
  /** What is under way is cut off, and nothing passes any more but the end of a session. */
  close(): void;
}

export interface McpRelayOptions {
  /** Something threw that should not have. */
  readonly onBug: (error: unknown) => void;
  /** How many servers there may be at once. Handed in by tests. */
  readonly maxMcpRoutes?: number;
}

/** Clients may name servers too, a few for each turn that runs. */
const MAX_ROUTES = 4_096;
/** The stream that a server may write to by itself is silent for as long as it likes: its thread ends it. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;
const MAX_QUOTED = 300;
/** The app-server ends its session when its thread is closed, a moment after that was asked for. */
const SESSION_END_MS = 5_000;

export const startMcpRelay = async ({
  onBug,
  maxMcpRoutes = MAX_ROUTES,
}: McpRelayOptions): Promise<McpRelay> => {
  const mcpRoutes = new Map<string, McpRoute>();
  const loopback = await startLoopback({
    async serve(handle, incoming, outgoing) {
      // Whatever else is asked for, such as where to sign in, is not there.
      const mcpRoute = mcpRoutes.get(handle);
      if (mcpRoute?.takes(incoming.method) === true) await mcpRoute.pass(incoming, outgoing);
      else notFound(outgoing);
    },
    onError: onBug,
    // A call may take as long as its server was given.
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

  /** Passes one request on, and streams its answer back byte for byte. */
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
      // The app-server writes it into its log.
      const body = hideSecrets(this.#target.secrets)((await readShortBody(answer)).toString('utf8'));
      this.#note(method, refusal(statusCode, body));
      const { 'content-length': _, ...back } = toAppServer(answer);
      outgoing.writeHead(statusCode, back).end(body);
      return;
    }
    this.#note(method, null);
    outgoing.writeHead(statusCode, toAppServer(answer));
    // The first event of a stream may be far away.
    outgoing.flushHeaders();
    for await (const chunk of answer.body as AsyncIterable<Buffer>) {
      idleTimeout.heard();
      if (!outgoing.write(chunk)) {
        await idleTimeout.without(once(outgoing, 'drain', { signal: idleTimeout.signal }));
      }
    }
    outgoing.end();
  }

  /** Only messages count: a server may have no stream of its own, and no end of sessions. */
  #note(method: string, lastError: string | null): void {
    if (method === 'POST') this.lastError = lastError;
  }
}

/** What MCP says in headers. The rest is the app-server's, such as a token that stands for ours. */
const PASSED = /^(?:accept|content-type|content-length|last-event-id|user-agent|mcp-.*)$/;

const toServer = (headers: IncomingMessage['headers']): Headers =>
  Object.fromEntries(Object.entries(endToEnd(headers)).filter(([name]) => PASSED.test(name)));

/** Names of headers are the same in any case, and none is to be sent twice. */
const lowerCased = (headers: McpUpstream['headers']): Headers =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

/** Without what would lead the app-server to sign in by itself. */
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
