import { gatewayError } from '../canonical/failure/failure.ts';
import type { Scope } from './guards/scopes.ts';
import type { ErrorForm } from '../turns/api.ts';
import type { Exchange } from './exchange/exchange.ts';

/** Who may call a route, and how they see errors. */
export interface RouteAccess {
  /** `open`: needs no key. `local`: needs no key from a caller on this machine. */
  readonly access: 'key' | 'local' | 'open';
  /** The caller needs one of these; absent: `infer`. */
  readonly scopes?: readonly Scope[];
  /** The errors of its API; absent: those that the client expects. */
  readonly errors?: ErrorForm;
}

/** A row of the route table. */
export interface Route extends RouteAccess {
  readonly method: 'DELETE' | 'GET' | 'POST';
  readonly path: string;
  handle(
    http: Request,
    exchange: Exchange,
    params: Readonly<Record<string, string>>,
  ): Promise<Response> | Response;
}

/** Who may call a route. A scope alone is short for a key with that scope. */
type RouteCallers = Scope | Partial<RouteAccess>;

/** Declares a route. */
export const route = (
  name: `${Route['method']} ${string}`,
  callers: RouteCallers,
  handle: Route['handle'],
): Route => {
  const [method, path = ''] = name.split(' ');
  const row = typeof callers === 'string' ? { scopes: [callers] } : callers;
  return { method: method as Route['method'], path, access: 'key', ...row, handle };
};

const STORES_NOTHING =
  'This server stores nothing, so it does not have this endpoint. Its operator set PROXY_STORE=off.';

/** A request for what is stored. */
export interface StoreCall {
  readonly http: Request;
  readonly exchange: Exchange;
  readonly query: URLSearchParams;
  readonly id: string;
  readonly itemId: string;
}

export type StoreHandler<Parts> = (call: StoreCall & Parts) => Promise<Response>;

/** Makes handlers of routes that need parts of the store. Null: nothing is stored, and they all fail the same way. */
export const withStore =
  <Parts extends object>(parts: Parts | null) =>
  (handle: StoreHandler<Parts>): Route['handle'] =>
  (http, exchange, { id = '', item_id: itemId = '' }) => {
    if (parts === null) throw gatewayError('endpoint_not_supported', { message: STORES_NOTHING });
    return handle({ http, exchange, query: new URL(http.url).searchParams, id, itemId, ...parts });
  };
