import { isJsonObject, type JsonObject } from '../kit/json/json.ts';
import type { ClientMethod, CompletedLogin, ParamsOf, ResultOf } from './protocol/methods.ts';
import {
  IGNORED_NOTIFICATIONS,
  isIgnoredNotification,
  isKnownNotification,
  LOGIN_COMPLETED,
  notificationsAbout,
  WARNING_NOTIFICATIONS,
  warningText,
} from './protocol/methods.ts';
import { declineOf } from './protocol/server-requests.ts';
import type { RequestOptions } from './rpc/calls.ts';
import { isConfigError, RequestTimeout, RPC_CODES, RpcError } from './rpc/errors.ts';
import { createPeer, type Peer, type PeerRequest } from './rpc/peer.ts';
import type { LineTransport } from './rpc/transport.ts';

/** Typed client of one app-server process. */
export interface AppServer {
  /** Rejects with RpcError, RequestTimeout or ConnectionClosed. */
  request<M extends ClientMethod>(
    method: M,
    params: ParamsOf<M>,
    options?: RequestOptions,
  ): Promise<ResultOf<M>>;
  /**
   * Delivers every known signal of this thread, in order of arrival and synchronously, until the returned
   * function is called. `closed` is delivered once, as the last signal, when the connection ends; immediately
   * if it has already ended. `answer` is asked about the requests of the thread; without it all are declined.
   */
  watchThread(threadId: string, listener: ThreadListener, answer?: AnswerRequest): () => void;
}

type ThreadListener = (signal: ThreadSignal) => void;

/** The result for a request of the app-server other than a call of a tool; null: it is declined. */
export type AnswerRequest = (method: string, params: unknown) => JsonObject | null;

export type ThreadSignal =
  /** One of `KnownNotification`: `isKnownNotification(signal)` narrows the params. */
  | { readonly kind: 'notification'; readonly method: string; readonly params: unknown }
  /** The app-server asks for the output of a declared tool. */
  | { readonly kind: 'tool-call'; readonly params: unknown; respond(result: unknown): void }
  | { readonly kind: 'closed' };

/** What the caller of a worker chooses about its connection. */
export interface AppServerSettings {
  readonly clientInfo: { readonly name: string; readonly title: string | null; readonly version: string };
  /**
   * Whether the app-server sends notifications about model output. The relay sees that output itself.
   * Default: true.
   */
  readonly reportsContent?: boolean;
  /** Whether the app-server reports the result of tools that it runs itself. Default: false. */
  readonly reportsTools?: boolean;
  /** Called when a sign-in that this client started has ended. */
  readonly onLoginCompleted?: (login: CompletedLogin) => void;
  /** Called with the version that the app-server names at its start; null: it names none. */
  readonly onVersion?: (version: string | null) => void;
  /** Called with what codex tells its user, and with what is wrong with a configuration that it cannot load. */
  readonly onWarning?: (text: string) => void;
  /** Time limit of `initialize`. */
  readonly initializeTimeoutMs?: number;
  readonly requestTimeoutMs?: number;
  /** Called for a method that is neither read nor listed as ignored: the binary is newer than our list. */
  readonly onUnknownNotification?: (method: string) => void;
  readonly onMalformedLine?: (reason: string) => void;
  /** Called when a listener throws. The error affects only its own thread. */
  readonly onListenerError: (error: unknown) => void;
  /** Called when any call has ended. */
  readonly onCall?: (call: EndedCall) => void;
}

export interface AppServerOptions extends AppServerSettings {
  /** Called when a call that a turn waits for timed out. */
  readonly onUnanswered?: (method: ClientMethod) => void;
  /** Called after the connection has ended and every watcher has been notified. */
  readonly onClose?: () => void;
}

interface CallEnd {
  /** Null: answered. Otherwise the error code, or why there was no answer. */
  readonly error: number | 'timeout' | 'closed' | null;
  /** For an unanswered call: how often the app-server replied that it is overloaded. */
  readonly refusals?: number;
}

export interface EndedCall extends CallEnd {
  readonly method: ClientMethod;
  readonly seconds: number;
}

export interface ConnectedAppServer extends AppServer {
  close(): void;
}

const INITIALIZE_TIMEOUT_MS = 20_000;

/**
 * Timeout of calls that a turn waits for. They take milliseconds, or some seconds if hundreds start at once.
 * A hung worker is detected sooner; this limit is for a live worker that loses a call. `turn/interrupt` is
 * not included: no turn waits for it, and codex does not answer it if the turn ends at the same moment.
 */
const TURN_CALL_TIMEOUT_MS = 20_000;
const TURN_CALLS: ReadonlySet<ClientMethod> = new Set<ClientMethod>([
  'thread/start',
  'thread/inject_items',
  'turn/start',
  'review/start',
  'thread/unsubscribe',
]);

/**
 * Performs the handshake over a new transport. Rejects and closes the transport if the server does not
 * answer.
 */
export const connectAppServer = async (
  transport: LineTransport,
  options: AppServerOptions,
): Promise<ConnectedAppServer> => {
  const threads = createThreadListeners(options.onListenerError);
  const peer = createPeer(
    transport,
    {
      onRequest: (request) => routeRequest(request, threads),
      onNotification: (method, params) => {
        const notification = { kind: 'notification', method, params } as const;
        if (isKnownNotification(notification)) {
          threads.deliver(threadIdOf(params), notification);
          return;
        }
        const warning = warningText(method, params);
        if (warning !== null) options.onWarning?.(warning);
        else if (method === LOGIN_COMPLETED) options.onLoginCompleted?.(params as CompletedLogin);
        else if (!isIgnoredNotification(method)) options.onUnknownNotification?.(method);
      },
      onMalformed: (reason) => options.onMalformedLine?.(reason),
      onClose: () => {
        threads.close();
        options.onClose?.();
      },
    },
    options.requestTimeoutMs === undefined ? {} : { requestTimeoutMs: options.requestTimeoutMs },
  );
  const appServer = typedClient(peer, threads, options);
  try {
    const answer = await appServer.request(
      'initialize',
      {
        clientInfo: options.clientInfo,
        capabilities: {
          experimentalApi: true,
          requestAttestation: false,
          optOutNotificationMethods: [
            ...(options.onLoginCompleted === undefined ? IGNORED_NOTIFICATIONS : ignoredInSignIn()),
            ...(options.reportsContent === false ? notificationsAbout('content') : []),
            ...(options.reportsTools === true ? [] : notificationsAbout('tools')),
            ...(options.onWarning === undefined ? WARNING_NOTIFICATIONS : []),
          ],
        },
      },
      { timeoutMs: options.initializeTimeoutMs ?? INITIALIZE_TIMEOUT_MS },
    );
    options.onVersion?.(versionIn(answer));
  } catch (error) {
    peer.close();
    throw error;
  }
  peer.notify('initialized');
  return appServer;
};

const typedClient = (
  peer: Peer,
  threads: ThreadListeners,
  { onCall, onUnanswered, onWarning }: AppServerOptions,
): ConnectedAppServer => ({
  request: async <M extends ClientMethod>(method: M, params: ParamsOf<M>, options?: RequestOptions) => {
    const limits = TURN_CALLS.has(method) ? { timeoutMs: TURN_CALL_TIMEOUT_MS, ...options } : options;
    const calledAt = performance.now();
    const ended = (how: CallEnd): void =>
      onCall?.({ method, seconds: (performance.now() - calledAt) / 1000, ...how });
    try {
      const result = await peer.request(method, params, limits);
      ended({ error: null });
      // Not validated: the binary is pinned, and its types are generated from it.
      return result as ResultOf<M>;
    } catch (error) {
      const isNoError = options?.signal?.aborted === true || isTooLate(method, error);
      ended(isNoError ? { error: null } : endOf(error));
      if (error instanceof RequestTimeout && TURN_CALLS.has(method)) onUnanswered?.(method);
      if (error instanceof RpcError && isConfigError(error)) onWarning?.(error.message);
      throw error;
    }
  },
  watchThread: (...watched) => threads.watch(...watched),
  close: () => peer.close(),
});

/** The user agent begins with our name and the version of codex: `codex-app-server-proxy/0.169.0 (Debian …`. */
const versionIn = ({ userAgent }: Partial<ResultOf<'initialize'>>): string | null =>
  /^[^/]*\/(\d[^\s(]{0,63})(?:[\s(]|$)/.exec(userAgent ?? '')?.[1] ?? null;

const ignoredInSignIn = (): readonly string[] =>
  IGNORED_NOTIFICATIONS.filter((method) => method !== LOGIN_COMPLETED);

/** Whether an interrupt failed because the turn had already ended, which counts as success. */
const isTooLate = (method: ClientMethod, error: unknown): boolean =>
  method === 'turn/interrupt' && error instanceof RpcError && error.code === RPC_CODES.invalidRequest;

const endOf = (error: unknown): CallEnd => {
  if (error instanceof RpcError) return { error: error.code };
  if (error instanceof RequestTimeout) return { error: 'timeout', refusals: error.refusals };
  return { error: 'closed' };
};

/**
 * Answers every request of the server, so that none hangs. Tool calls of a watched thread go to its turn, other
 * requests to who answers for the thread. All others are declined here.
 */
const routeRequest = (request: PeerRequest, threads: ThreadListeners): void => {
  const { method, params } = request;
  const reject = (message: string): void => request.reject({ code: RPC_CODES.internal, message });
  if (method === 'item/tool/call') {
    const respond = (result: unknown): void => request.respond(result);
    const signal: ThreadSignal = { kind: 'tool-call', params, respond };
    if (!threads.deliver(threadIdOf(params), signal)) reject('no turn answers the tool calls of this thread');
    return;
  }
  const answer = threads.answer(threadIdOf(params), method, params);
  if (answer !== null) {
    request.respond(answer);
    return;
  }
  const decline = declineOf(method);
  if (decline.kind === 'result') request.respond(decline.result);
  else request.reject({ code: RPC_CODES.methodNotFound, message: decline.message });
};

const threadIdOf = (params: unknown): string | null => {
  const threadId = isJsonObject(params) ? params['threadId'] : undefined;
  return typeof threadId === 'string' ? threadId : null;
};

interface ThreadListeners {
  watch(threadId: string, listener: ThreadListener, answer?: AnswerRequest): () => void;
  /** The answer to another request; null: no one has one. */
  answer(threadId: string | null, method: string, params: unknown): JsonObject | null;
  /** False if no listener watches the thread, which is normal after an interrupt. */
  deliver(threadId: string | null, signal: ThreadSignal): boolean;
  close(): void;
}

const createThreadListeners = (onError: (error: unknown) => void): ThreadListeners => {
  const byThread = new Map<string, Set<ThreadListener>>();
  const answers = new Map<string, AnswerRequest>();
  let closed = false;

  const call = (listener: ThreadListener, signal: ThreadSignal): void => {
    try {
      listener(signal);
    } catch (error) {
      onError(error);
    }
  };
  const unwatch = (threadId: string, listener: ThreadListener): void => {
    const listeners = byThread.get(threadId);
    if (listeners?.delete(listener) === true && listeners.size === 0) byThread.delete(threadId);
  };

  return {
    watch: (threadId, listener, answer) => {
      if (closed) {
        call(listener, { kind: 'closed' });
        return () => {};
      }
      const listeners = byThread.get(threadId);
      if (listeners === undefined) byThread.set(threadId, new Set([listener]));
      else listeners.add(listener);
      if (answer !== undefined) answers.set(threadId, answer);
      return () => {
        unwatch(threadId, listener);
        if (answers.get(threadId) === answer) answers.delete(threadId);
      };
    },
    answer: (threadId, method, params) => {
      const answer = threadId === null ? undefined : answers.get(threadId);
      try {
        return answer?.(method, params) ?? null;
      } catch (error) {
        onError(error);
        return null;
      }
    },
    deliver: (threadId, signal) => {
      const listeners = threadId === null ? undefined : byThread.get(threadId);
      if (listeners === undefined) return false;
      for (const listener of listeners) call(listener, signal);
      return true;
    },
    close: () => {
      closed = true;
      const all = [...byThread.values()];
      byThread.clear();
      answers.clear();
      for (const listeners of all) {
        for (const listener of listeners) call(listener, { kind: 'closed' });
      }
    },
  };
};
