import type { JsonObject } from '../../kit/json/json.ts';
import { errorResponse } from '../answer/error-response.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { Exchanges } from '../exchange/exchanges.ts';
import { INFER, requireScope } from '../guards/scopes.ts';
import { serveTurn } from '../turn/serve-turn.ts';
import type { TurnDeps } from '../turn/start-turn.ts';
import type { Api } from '../../turns/api.ts';
import type { CapturedRequest } from './captured.ts';
import { notReplayable, replayBody } from './replay-body.ts';

export interface ReplayDeps {
  /** All that run turns. */
  readonly apis: readonly Api[];
  readonly turns: TurnDeps;
  readonly exchanges: () => Exchanges;
}

/** What became of a request that was sent again. */
export interface Replayed {
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
  { apis, turns, exchanges }: ReplayDeps,
): Promise<Replayed> => {
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
