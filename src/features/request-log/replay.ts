import type { GatewayError } from '../../canonical/failure/failure.ts';
import { isJsonObject, type Json, type JsonObject } from '../../kit/json/json.ts';
import { errorResponse } from '../../http/answer/error-response.ts';
import type { Exchange } from '../../http/exchange/exchange.ts';
import type { Exchanges } from '../../http/exchange/exchanges.ts';
import type { CapturedRequest, CaptureFiles } from '../../http/exchange/trace-request.ts';
import { INFER, requireScope } from '../../http/guards/scopes.ts';
import { serveTurn } from '../../http/turn/serve-turn.ts';
import type { TurnDeps } from '../../http/turn/start-turn.ts';
import type { Api } from '../../turns/api.ts';
import { requestLogError } from './feature.ts';
import type { RequestRecord } from './record.ts';

export interface CaptureDeps {
  readonly captured: CaptureFiles;
  /** The id of this server. */
  readonly instance: string;
}

/** A capture, or why there is none. */
type FoundCapture =
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
  if (name === null) return missing(captured.isAlways ? MISSED : OFF);
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

export interface ReplayDeps {
  /** All that run turns. */
  readonly apis: readonly Api[];
  readonly turns: () => TurnDeps;
  readonly exchanges: () => Exchanges;
}

/** What became of a request that was sent again. */
export interface ReplayResult {
  readonly requestId: string;
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
  readonly isCut: boolean;
  readonly changes: readonly string[];
}

/** Of the answer that is shown. */
const MAX_ANSWER_BYTES = 256 * 1024;

/** Headers that do not describe the new request. */
const DROPPED = new Set([
  'content-length',
  'content-encoding',
  'content-type',
  'x-request-id',
  'traceparent',
]);

/**
 * Sends a captured request through its route again, as a new request of the caller: it is logged, limited and counted like
 * any other. Ends when its answer has ended.
 */
export const replay = async (
  { path, headers, body, isPartial }: CapturedRequest,
  of: string,
  exchange: Exchange,
  { apis, turns: allTurns, exchanges }: ReplayDeps,
): Promise<ReplayResult> => {
  const caller = exchange.identity();
  const api = apis.find((one) => one.path === path);
  if (caller === null || api === undefined) throw notReplayable(`${path} runs no turns.`);
  requireScope(caller, INFER);
  if (body === null)
    throw notReplayable(isPartial ? 'Its body is too large.' : 'Its body could not be read when it arrived.');
  const { body: sent, changes } = replayBody(body, path);
  const http = new Request(`http://replay${path}`, {
    method: 'POST',
    headers: { ...textsIn(headers), 'content-type': 'application/json' },
    body: JSON.stringify(sent),
  });
  const all = exchanges();
  const turns = allTurns();
  const inner = all.open({
    requestId: turns.ambient.ids.mint('req'),
    method: 'POST',
    route: path,
    headers: http.headers,
    address: exchange.address,
    isLocal: () => exchange.isLocal(),
    clientSignal: exchange.signal,
  });
  inner.admit(caller);
  inner.note({ replayOf: of });
  const { requestId } = inner;
  const answer = await serveTurn(api, turns)(http, inner).catch((error: unknown) =>
    errorResponse(all.failed(inner, error), api.errors, requestId),
  );
  inner.note({ status: answer.status });
  inner.returned();
  const { text, isCut } = await readAnswer(answer);
  const contentType = answer.headers.get('content-type') ?? '';
  return { requestId, status: answer.status, contentType, text, isCut, changes };
};

const textsIn = (headers: JsonObject): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      typeof value === 'string' && !DROPPED.has(name) ? [[name, value]] : [],
    ),
  );

/** Reads an answer to its end, because its turn runs no faster than it is read, and keeps its beginning. */
const readAnswer = async ({
  body,
}: Response): Promise<{ readonly text: string; readonly isCut: boolean }> => {
  const kept: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    if (bytes < MAX_ANSWER_BYTES) kept.push(chunk.subarray(0, MAX_ANSWER_BYTES - bytes));
    bytes += chunk.length;
  }
  return { text: Buffer.concat(kept).toString('utf8').toWellFormed(), isCut: bytes > MAX_ANSWER_BYTES };
};

/** The body of a captured request, as it is sent again. */
interface ReplayBody {
  readonly body: JsonObject;
  /** Where it differs from what the client sent, for people. */
  readonly changes: readonly string[];
}

/** What a capture has in place of encrypted texts and of long ones. */
const SEALED = /^\(sealed: \d+ characters, sha256 [0-9a-f]{64}\)$/;
const CUT = /"\(cut: \d+ characters, sha256 [0-9a-f]{64}\)"/;

/**
 * Makes a body that leaves nothing behind: a replay is an experiment of an administrator. Throws if it cannot be sent
 * without a change of stored data, or if the capture lacks a part of it.
 */
export const replayBody = (captured: JsonObject, path: string): ReplayBody => {
  if ((captured['conversation'] ?? null) !== null)
    throw notReplayable('It would add its items to a conversation. Send it without `conversation` instead.');
  if (CUT.test(JSON.stringify(captured)))
    throw notReplayable('Its capture has only the length of a very long text or image.');
  const changes: string[] = [];
  const body: Record<string, Json | undefined> = { ...captured };
  const stores = path.endsWith('/responses') ? captured['store'] !== false : captured['store'] === true;
  if (stores) {
    body['store'] = false;
    changes.push('`store` is false: nothing of a replay is stored.');
  }
  if (captured['background'] === true) {
    body['background'] = false;
    changes.push('`background` is false: the replay waits for the answer.');
  }
  const input = captured['input'];
  if (Array.isArray(input)) {
    const kept = (input as readonly Json[]).filter((item) => !isSealed(item));
    if (kept.length < input.length) {
      body['input'] = kept;
      changes.push('Encrypted items of `input` are left out: captures do not have them.');
    }
  }
  return { body, changes };
};

const isSealed = (item: Json): boolean =>
  isJsonObject(item) &&
  typeof item['encrypted_content'] === 'string' &&
  SEALED.test(item['encrypted_content']);

export const notReplayable = (why: string): GatewayError =>
  requestLogError('request_not_replayable', { message: `This request cannot be sent again. ${why}` });
