import { isJsonObject } from '../kit/json/json.ts';
import type { ClientMethod, ParamsOf, ResultOf } from './protocol/methods.ts';
import {
  IGNORED_NOTIFICATIONS,
  isIgnoredNotification,
  isKnownNotification,
  notificationsAbout,
} from './protocol/methods.ts';
import { declineOf } from './protocol/server-requests.ts';
import type { RequestOptions } from './rpc/calls.ts';
import { RequestTimeout, RPC_CODES, RpcError } from './rpc/errors.ts';
import { createPeer, type Peer, type PeerRequest } from './rpc/peer.ts';
import type { Transport } from './rpc/transport.ts';

/** The typed client of one app-server process. */
export interface AppServer {
  /** Rejects with RpcError, RequestTimeout or ConnectionClosed. */
  request<M extends ClientMethod>(
    method: M,
    params: ParamsOf<M>,
    options?: RequestOptions,
  ): Promise<ResultOf<M>>;
  /**
   * Everything that names this thread and that we read, in order of arrival, until the returned
   * function is called. The calls are synchronous. `closed` comes once, as the last signal, if the
   * connection ends; at once if it has ended already.
   */
  watchThread(threadId: string, listener: ThreadListener): () => void;
}

type ThreadListener = (signal: ThreadSignal) => void;

export type ThreadSignal =
  /** One of `KnownNotification`: `isKnownNotification(signal)` gives the params their type. */
  | { readonly kind: 'notification'; readonly method: string; readonly params: unknown }
  /** The app-server asks what a tool says that it was told of. */
  | { readonly kind: 'tool-call'; readonly params: unknown; respond(result: unknown): void }
  | { readonly kind: 'closed' };

export interface AppServerOptions {
  readonly clientInfo: { readonly name: string; readonly title: string | null; readonly version: string };
  /** Whether the app-server is to tell what the model says; a relay sees that itself. Default: it is. */
  readonly reportsContent?: boolean;
  /** Whether it is to tell how tools ended that it runs itself. Default: it is not. */
  readonly reportsTools?: boolean;
  /** How long `initialize` may take. */
  readonly initializeTimeoutMs?: number;
  readonly requestTimeoutMs?: number;
  /** A method that is neither read nor listed as ignored: the binary is newer than our list. */
  readonly onUnknownNotification?: (method: string) => void;
  readonly onMalformedLine?: (reason: string) => void;
  /** A listener threw. The error stays with its thread: the others must go on. */
  readonly onListenerError: (error: unknown) => void;
  /** How a call ended, whoever made it. */
  readonly onCall?: (call: EndedCall) => void;
  /** A call that a turn waits for was not answered in its time. */
  readonly onUnanswered?: (method: ClientMethod) => void;
  /** The connection has ended; every watcher has been told. */
  readonly onClose?: () => void;
}

export interface EndedCall {
  readonly method: ClientMethod;
  readonly seconds: number;
  /** Null: it was answered. Otherwise the code of the error, or that no answer came. */
  readonly error: number | 'timeout' | 'closed' | null;
  /** Of one that was not answered: how often the app-server had said that it is overloaded. */
  readonly refusals?: number;
}

export interface ConnectedAppServer extends AppServer {
  close(): void;
}

const INITIALIZE_TIMEOUT_MS = 20_000;

/**
 * What a turn waits for is answered within milliseconds, and within some seconds if hundreds begin at once. A worker
 * that stands still is found out sooner than this; the limit is for one that lives and forgets a call. An interrupt is
 * none of them: nobody waits for it, and codex forgets it where the turn ends at the same moment.
 */
const TURN_CALL_TIMEOUT_MS = 20_000;
const TURN_CALLS: ReadonlySet<ClientMethod> = new Set<ClientMethod>([
  'thread/start',
  'thread/inject_items',
  'turn/start',
  'review/start',
  'turn/steer',
  'thread/unsubscribe',
]);

/** Shakes hands over a fresh transport. Rejects, and closes it, if the server does not answer. */
export const connectAppServer = async (
  transport: Transport,
  options: AppServerOptions,
): Promise<ConnectedAppServer> => {
  const threads = createThreadListeners(options.onListenerError);
  const peer = createPeer(
    transport,
    {
      onRequest: (request) => routeRequest(request, threads),
      onNotification: (method, params) => {
        const notification = { kind: 'notification', method, params } as const;
        if (isKnownNotification(notification)) threads.deliver(threadIdOf(params), notification);
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
    await appServer.request(
      'initialize',
      {
        clientInfo: options.clientInfo,
        capabilities: {
          experimentalApi: true,
          requestAttestation: false,
          optOutNotificationMethods: [
            ...IGNORED_NOTIFICATIONS,
            ...(options.reportsContent === false ? notificationsAbout('content') : []),
            ...(options.reportsTools === true ? [] : notificationsAbout('tools')),
          ],
        },
      },
      { timeoutMs: options.initializeTimeoutMs ?? INITIALIZE_TIMEOUT_MS },
    );
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
  { onCall, onUnanswered }: AppServerOptions,
): ConnectedAppServer => ({
  request: async <M extends ClientMethod>(method: M, params: ParamsOf<M>, options?: RequestOptions) => {
    const limits = TURN_CALLS.has(method) ? { timeoutMs: TURN_CALL_TIMEOUT_MS, ...options } : options;
    const calledAt = performance.now();
    const ended = (how: Pick<EndedCall, 'error' | 'refusals'>): void =>
      onCall?.({ method, seconds: (performance.now() - calledAt) / 1000, ...how });
    try {
      const result = await peer.request(method, params, limits);
      ended({ error: null });
      // The binary is pinned and its types are vendored from it: that is the check.
      return result as ResultOf<M>;
    } catch (error) {
      const isNoError = options?.signal?.aborted === true || isTooLate(method, error);
      ended(isNoError ? { error: null } : endOf(error));
      if (error instanceof RequestTimeout && TURN_CALLS.has(method)) onUnanswered?.(method);
      throw error;
    }
  },
  watchThread: (threadId, listener) => threads.watch(threadId, listener),
  close: () => peer.close(),
});

/** The turn that was to be interrupted has ended by itself, which is as good. */
const isTooLate = (method: ClientMethod, error: unknown): boolean =>
  method === 'turn/interrupt' && error instanceof RpcError && error.code === RPC_CODES.invalidRequest;

const endOf = (error: unknown): Pick<EndedCall, 'error' | 'refusals'> => {
  if (error instanceof RpcError) return { error: error.code };
  if (error instanceof RequestTimeout) return { error: 'timeout', refusals: error.refusals };
  return { error: 'closed' };
};

/**
 * Nothing that the server asks may hang. Tool calls of a watched thread are for its turn; whatever
 * else it asks, and tool calls of a thread that was let go, is declined here.
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
  const decline = declineOf(method);
  if (decline.kind === 'result') request.respond(decline.result);
  else request.reject({ code: RPC_CODES.methodNotFound, message: decline.message });
};

const threadIdOf = (params: unknown): string | null => {
  const threadId = isJsonObject(params) ? params['threadId'] : undefined;
  return typeof threadId === 'string' ? threadId : null;
};

interface ThreadListeners {
  watch(threadId: string, listener: ThreadListener): () => void;
  /** False if nobody watches the thread, which is normal after an interrupt. */
  deliver(threadId: string | null, signal: ThreadSignal): boolean;
  close(): void;
}

const createThreadListeners = (onError: (error: unknown) => void): ThreadListeners => {
  const byThread = new Map<string, Set<ThreadListener>>();
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
    watch: (threadId, listener) => {
      if (closed) {
        call(listener, { kind: 'closed' });
        return () => {};
      }
      const listeners = byThread.get(threadId);
      if (listeners === undefined) byThread.set(threadId, new Set([listener]));
      else listeners.add(listener);
      return () => unwatch(threadId, listener);
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
      for (const listeners of all) {
        for (const listener of listeners) call(listener, { kind: 'closed' });
      }
    },
  };
};
