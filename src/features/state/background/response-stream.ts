import { gatewayError, type GatewayError } from '../../../canonical/failure/failure.ts';
import type { Exchange } from '../../../http/exchange/exchange.ts';
import type { TurnDeps } from '../../../http/turn/start-turn.ts';
import { quoted } from '../../../kit/text/display.ts';
import { stateError } from '../failures.ts';
import type { FoundResponse } from '../stored-responses.ts';
import { isRunning } from '../stored-turn.ts';
import type { ResponseEvents } from './response-events.ts';
import { streamEvents } from './serve-background.ts';

export interface StreamAsk {
  readonly query: URLSearchParams;
  /** Of the answer. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The stream of a stored response from an event on, as its first reader got it, and live while it runs. */
export const responseStream = async (
  { row, object }: FoundResponse,
  { query, headers }: StreamAsk,
  exchange: Exchange,
  { events, turns }: { readonly events: ResponseEvents; readonly turns: TurnDeps },
): Promise<Response> => {
  const after = readStartingAfter(query);
  const isFresh = turns.ambient.clock.now() - 1000 * Number(object['completed_at']) < FRESH_MS;
  const isKept = isRunning(row.status) || (await events.appear(row.id, isFresh ? APPEAR_MS : 0));
  if (!isKept) throw notStreamable(row.isBackground ? OLD : SYNCHRONOUS);
  const texts = events.read(row.owner, row.id, after + 1, exchange.signal);
  return streamEvents(texts, { headers, exchange, deps: turns });
};

const OLD = 'This response can no longer be streamed because it is more than 10 minutes old.';
const SYNCHRONOUS = 'This response cannot be streamed because it was not created with background=true.';

/** The events of a stream with a client are written when it has ended: on another instance they appear a little later. */
const FRESH_MS = 5_000;
const APPEAR_MS = 1_000;

const notStreamable = (message: string): GatewayError =>
  stateError('not_streamable', { param: 'stream', code: 'invalid_request_error', message });

/** -1: from the beginning. */
const readStartingAfter = (query: URLSearchParams): number => {
  const value = query.get('starting_after');
  if (value === null) return -1;
  if (/^\d{1,15}$/.test(value)) return Number(value);
  throw gatewayError('invalid_type', {
    param: 'starting_after',
    message: `Invalid type for 'starting_after': expected the sequence number of an event, but got '${quoted(value)}' instead.`,
  });
};
