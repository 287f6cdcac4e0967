import type { RpcErrorBody } from './message.ts';

/** The app-server answered with an error. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(body: RpcErrorBody) {
    super(body.message);
    this.name = 'RpcError';
    this.code = body.code;
    this.data = body.data;
  }
}

/** The connection ended before the answer arrived. */
export class ConnectionClosed extends Error {
  constructor(options?: ErrorOptions) {
    super('the connection to the app-server is closed', options);
    this.name = 'ConnectionClosed';
  }
}

/** The app-server is alive but did not answer in time. */
export class RequestTimeout extends Error {
  /** How often it replied that it is overloaded before the timeout. */
  readonly refusals: number;

  constructor(method: string, timeoutMs: number, refusals = 0) {
    super(`the app-server did not answer ${method} within ${timeoutMs} ms`);
    this.name = 'RequestTimeout';
    this.refusals = refusals;
  }
}

/** Whether the app-server cannot load the configuration of a thread. Its code would blame the request. */
export const isConfigError = ({ message }: RpcError): boolean =>
  message.startsWith('failed to load configuration');

/** Error codes of the app-server that we handle. */
export const RPC_CODES = {
  overloaded: -32_001,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
} as const;
