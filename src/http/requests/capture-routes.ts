import { readCaptureOrder } from '../../openai/shared/capture-order.ts';
import { ignoredHeader } from '../answer/ignored-header.ts';
import { readBody, type BodyDeps } from '../body/read-body.ts';
import type { Route } from '../server.ts';

/** Captures the next requests. */
export interface CaptureOrders {
  order(next: CaptureOrder): Promise<void>;
  cancel(): void;
  status(): CaptureStatus;
}

interface CaptureOrder {
  readonly keyId: string | null;
  readonly requests: number;
}

interface CaptureStatus {
  readonly mode: 'all' | 'next' | 'off';
  readonly directory: string;
  readonly order: (CaptureOrder & { readonly expiresAt: number }) | null;
}

export interface CaptureRouteDeps {
  readonly captures: CaptureOrders;
  readonly bodies: BodyDeps;
}

const NOT_CACHED = { 'cache-control': 'no-store' };

/** Switches capture on for the next requests, and off again, without a restart. */
export const captureRoutes = ({ captures, bodies }: CaptureRouteDeps): readonly Route[] => {
  const route = (method: Route['method'], handle: Route['handle']): Route => ({
    method,
    path: '/v1/codex/captures',
    access: 'key',
    scopes: ['admin'],
    handle,
  });
  const show = (headers: Readonly<Record<string, string>> = {}): Response =>
    Response.json(project(captures.status()), { headers: { ...headers, ...NOT_CACHED } });
  return [
    route('GET', () => show()),
    route('POST', async (http, exchange) => {
      const { order, ignored } = readCaptureOrder(await readBody(http, exchange, bodies));
      await captures.order(order);
      return show(ignoredHeader(ignored));
    }),
    route('DELETE', () => {
      captures.cancel();
      return show();
    }),
  ];
};

const project = ({ mode, directory, order }: CaptureStatus) => ({
  object: 'codex.captures',
  mode,
  directory,
  key_id: order?.keyId ?? null,
  requests_left: order?.requests ?? null,
  expires_at: order === null ? null : Math.floor(order.expiresAt / 1000),
});
