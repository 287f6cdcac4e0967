import { isJsonObject, wellFormedJson } from '../../kit/json/json.ts';

/**
 * The messages of the app-server: JSON-RPC without the `jsonrpc` field, one JSON text per line. A message
 * with the field is accepted.
 */
export type RpcId = string | number;

export interface RpcErrorBody {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export type OutgoingMessage =
  | { readonly id: RpcId; readonly method: string; readonly params: unknown }
  | { readonly method: string; readonly params?: unknown }
  | { readonly id: RpcId; readonly result: unknown }
  | { readonly id: RpcId; readonly error: RpcErrorBody };

export type IncomingMessage =
  | { readonly kind: 'request'; readonly id: RpcId; readonly method: string; readonly params: unknown }
  | { readonly kind: 'notification'; readonly method: string; readonly params: unknown }
  | { readonly kind: 'result'; readonly id: RpcId; readonly result: unknown }
  | { readonly kind: 'error'; readonly id: RpcId; readonly error: RpcErrorBody }
  /** Not a message of this protocol. The reason never quotes the line: it may contain a user's text. */
  | { readonly kind: 'malformed'; readonly reason: string };

export const encodeMessage = (message: OutgoingMessage): string => wellFormedJson(message);

const isId = (value: unknown): value is RpcId => typeof value === 'string' || typeof value === 'number';

const malformed = (reason: string): IncomingMessage => ({ kind: 'malformed', reason });

/** Never throws: a bad line is an ordinary result, and the connection continues. */
export const parseMessage = (line: string): IncomingMessage => {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return malformed('not JSON');
  }
  if (!isJsonObject(value)) return malformed('not an object');
  const { id, method } = value;
  if (typeof method === 'string') {
    if (id === undefined) return { kind: 'notification', method, params: value['params'] };
    return isId(id)
      ? { kind: 'request', id, method, params: value['params'] }
      : malformed('a request with an odd id');
  }
  if (method !== undefined) return malformed('a method that is not a string');
  if (!isId(id)) return malformed('neither a method nor an id');
  if ('error' in value) return parseError(id, value['error']);
  return 'result' in value
    ? { kind: 'result', id, result: value['result'] }
    : malformed('an answer without result and error');
};

const parseError = (id: RpcId, error: unknown): IncomingMessage => {
  if (!isJsonObject(error)) return malformed('an error that is not an object');
  const { code, message, data } = error;
  if (typeof code !== 'number' || typeof message !== 'string') {
    return malformed('an error without code and message');
  }
  return { kind: 'error', id, error: { code, message, ...(data === undefined ? {} : { data }) } };
};
