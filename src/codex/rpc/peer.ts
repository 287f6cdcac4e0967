import { type CallOptions, createCalls, type RequestOptions } from './calls.ts';
import { encodeMessage, parseMessage, type RpcErrorBody, type RpcId } from './message.ts';
import type { LineTransport } from './transport.ts';

/** A request from the other side. Only the first answer counts. */
export interface PeerRequest {
  readonly method: string;
  readonly params: unknown;
  respond(result: unknown): void;
  reject(error: RpcErrorBody): void;
}

export interface PeerHandlers {
  onRequest(request: PeerRequest): void;
  onNotification(method: string, params: unknown): void;
  /** A line that is not a message, or an answer without a request. The reason contains no content. */
  onMalformed(reason: string): void;
  onClose(cause: Error | null): void;
}

export interface Peer {
  /** Rejects with RpcError, RequestTimeout or ConnectionClosed. */
  request(method: string, params: unknown, options?: RequestOptions): Promise<unknown>;
  notify(method: string, params?: unknown): void;
  close(): void;
}

const DEFAULTS: CallOptions = {
  requestTimeoutMs: 60_000,
  overloadRetry: { attempts: 6, firstDelayMs: 50, maxDelayMs: 2_000 },
  random: Math.random,
};

/** JSON-RPC over a transport, independent of the methods. */
export const createPeer = (
  transport: LineTransport,
  handlers: PeerHandlers,
  options: Partial<CallOptions> = {},
): Peer => {
  const calls = createCalls((line) => transport.send(line), { ...DEFAULTS, ...options });

  const checkAnswer = (known: boolean): void => {
    if (!known) handlers.onMalformed('an answer to no request');
  };

  transport.onMessage((line) => {
    const message = parseMessage(line);
    switch (message.kind) {
      case 'notification':
        handlers.onNotification(message.method, message.params);
        break;
      case 'request':
        handlers.onRequest(incomingRequest(transport, message.id, message.method, message.params));
        break;
      case 'result':
        checkAnswer(calls.resolve(message.id, message.result));
        break;
      case 'error':
        checkAnswer(calls.reject(message.id, message.error));
        break;
      case 'malformed':
        handlers.onMalformed(message.reason);
        break;
    }
  });

  transport.onClose((cause) => {
    calls.close(cause);
    handlers.onClose(cause);
  });

  return {
    request: (method, params, limits) => calls.start(method, params, limits),
    notify: (method, params) => transport.send(encodeMessage({ method, params })),
    close: () => transport.close(),
  };
};

const incomingRequest = (
  transport: LineTransport,
  id: RpcId,
  method: string,
  params: unknown,
): PeerRequest => {
  let answered = false;
  const answer = (line: string): void => {
    if (answered) return;
    answered = true;
    transport.send(line);
  };
  return {
    method,
    params,
    respond: (result) => answer(encodeMessage({ id, result })),
    reject: (error) => answer(encodeMessage({ id, error })),
  };
};
