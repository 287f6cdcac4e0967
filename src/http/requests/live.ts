import { failureOf, gatewayError } from '../../canonical/failure/failure.ts';
import { hasScope } from '../guards/scopes.ts';
import type { Clock } from '../../kit/ambient.ts';
import { Limiter } from '../../kit/async/limiter.ts';
import type { LiveFeed } from '../../requests/live-feed.ts';
import { sseResponse } from '../answer/sse-response.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { Authenticator } from '../guards/authenticate.ts';
import type { TurnDeps } from '../turn/start-turn.ts';
import type { Frame } from '../../turns/api.ts';

export interface LiveDeps {
  readonly feed: LiveFeed;
  readonly authenticate: Authenticator;
  /** The places of readers. */
  readonly readers: Pick<Limiter, 'enter'>;
  readonly turns: Pick<TurnDeps, 'keepaliveMs' | 'onBug'>;
  /** How often a reader's key or session is checked again. */
  readonly checkEveryMs?: number;
}

const CHECK_EVERY_MS = 10_000;
const MAX_READERS = 64;
const WAIT_MS = 1_000;

/** Places for readers. A key that has less than its share takes that of the oldest reader of the key with the most. */
export const createReaderPlaces = (options: {
  readonly clock: Clock;
  /** Whether the last place is for this key, too. */
  readonly isAdmin: (keyId: string) => boolean;
}): Limiter =>
  new Limiter({
    ...options,
    capacity: MAX_READERS,
    maxWaiting: MAX_READERS,
    waitMs: WAIT_MS,
    onlyShareWaits: true,
    onChange() {},
    refuse: () =>
      gatewayError('server_overloaded', {
        message: `Too many readers of live requests: at most ${MAX_READERS} are served.`,
        retryAfterSeconds: 5,
      }),
  });

/** Streams what runs on this server: a snapshot, then every change. */
export const liveRequests = async (
  http: Request,
  exchange: Exchange,
  { feed, authenticate, readers, turns, checkEveryMs = CHECK_EVERY_MS }: LiveDeps,
): Promise<Response> => {
  const over = new AbortController();
  const permit = await readers.enter(exchange.caller(), 1, exchange.signal, {
    yielding: {
      rank: () => exchange.startedAt,
      giveWay() {
        over.abort();
        return true;
      },
    },
  });
  exchange.atEnd(() => permit.leave());
  const { method, url, headers } = http;
  const check = async (): Promise<void> => {
    try {
      const caller = await authenticate({ method, url, headers, address: exchange.address });
      if (!hasScope(caller, ['read'])) over.abort();
    } catch (error) {
      // The database of sessions may be away for a moment.
      if ([401, 403].includes(failureOf(error).status)) over.abort();
    }
  };
  const timer = setInterval(() => void check(), checkEveryMs).unref();
  exchange.atEnd(() => clearInterval(timer));
  const texts = feed.read(AbortSignal.any([exchange.signal, over.signal]));
  return sseResponse(framesOf(texts), {
    keepaliveMs: turns.keepaliveMs,
    headers: {},
    onGone: () => exchange.abort(),
    onEnd: exchange.hold(),
    onBug: (error) => turns.onBug(error, exchange),
    endOfBroken: null,
  });
};

async function* framesOf(texts: AsyncIterable<string>): AsyncGenerator<Frame> {
  for await (const text of texts) yield { event: null, data: null, text };
}
