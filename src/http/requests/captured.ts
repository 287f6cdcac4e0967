import type { JsonObject } from '../../kit/json/json.ts';
import { readCaptureOrder } from '../../openai/shared/sign-in.ts';
import type { RequestRecord } from '../../requests/record.ts';
import { ignoredHeader } from '../answer/ignored-header.ts';
import { readBody, type BodyDeps } from '../body/read-body.ts';
import { route, type Route } from '../route.ts';

/** Requests that were captured completely. */
export interface CapturedRequests {
  status(): CaptureStatus;
  /** Null: there is no such capture, or not any more. */
  read(name: string): Promise<CapturedRequest | null>;
}

export interface CapturedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: JsonObject;
  readonly body: JsonObject | null;
  readonly modelRequests: readonly JsonObject[];
  readonly isPartial: boolean;
}

export interface CaptureDeps {
  readonly captured: CapturedRequests;
  /** The id of this server. */
  readonly instance: string;
}

/** A capture, or why there is none. */
export type FoundCapture =
  | { readonly capture: CapturedRequest; readonly why: null }
  | { readonly capture: null; readonly why: string };

const OFF =
  'This request was not captured. An administrator can have the next requests captured (POST /v1/codex/captures), and PROXY_CAPTURE_DIR captures all: then their bodies can be shown and replayed.';
const MISSED =
  'This request was not captured: it ran no turn, or too many requests were captured at the same time.';
const GONE =
  'The capture of this request does not exist any more: only the newest 1,000 and at most 1 GB are kept.';

export const findCapture = async (
  { capture: name, instance }: RequestRecord,
  { captured, instance: own }: CaptureDeps,
): Promise<FoundCapture> => {
  const missing = (why: string): FoundCapture => ({ capture: null, why });
  if (name === null) return missing(captured.status().mode === 'all' ? MISSED : OFF);
  const capture = await captured.read(name);
  if (capture !== null) return { capture, why: null };
  if (instance === own) return missing(GONE);
  return missing(
    `The capture is not in the folder of this server: ${instance} answered the request, before a restart or on another machine.`,
  );
};

/** Of each body that is shown. */
const MAX_SHOWN_CHARS = 256 * 1024;

const shown = (body: JsonObject | null) => {
  if (body === null) return null;
  const text = JSON.stringify(body);
  return {
    chars: text.length,
    truncated: text.length > MAX_SHOWN_CHARS,
    text: text.slice(0, MAX_SHOWN_CHARS).toWellFormed(),
  };
};

export const projectCapture = ({ capture, why }: FoundCapture) =>
  capture === null
    ? { status: 'missing' as const, message: why }
    : {
        status: 'captured' as const,
        method: capture.method,
        path: capture.path,
        headers: capture.headers,
        client_body: shown(capture.body),
        model_requests: capture.modelRequests.map(shown),
        partial: capture.isPartial,
      };

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
  const show = (headers: Readonly<Record<string, string>> = {}): Response =>
    Response.json(project(captures.status()), { headers: { ...headers, ...NOT_CACHED } });
  return [
    route('GET /v1/codex/captures', 'admin', () => show()),
    route('POST /v1/codex/captures', 'admin', async (http, exchange) => {
      const { order, ignored } = readCaptureOrder(await readBody(http, exchange, bodies));
      await captures.order(order);
      return show(ignoredHeader(ignored));
    }),
    route('DELETE /v1/codex/captures', 'admin', () => {
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
