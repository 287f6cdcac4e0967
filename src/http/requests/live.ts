import { failureOf, gatewayError } from '../../canonical/failure/failure.ts';
import { hasScope } from '../../keys/caller.ts';
import { MAX_READERS, type LiveFeed } from '../../requests/live-feed.ts';
import { sseResponse } from '../answer/sse-response.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { Authenticator } from '../guards/authenticate.ts';
import type { TurnDeps } from '../turn/start-turn.ts';
import type { Frame } from '../../turns/api.ts';

export interface LiveDeps {
  readonly feed: LiveFeed;
  readonly authenticate: Authenticator;
  readonly turns: Pick<TurnDeps, 'keepaliveMs' | 'onBug'>;
  /** How often a reader's key or session is checked again. */
  readonly checkEveryMs?: number;
}

const CHECK_EVERY_MS = 10_000;

/** Streams what runs on this server: a snapshot, then every change. */
export const liveRequests = (
  http: Request,
  exchange: Exchange,
  { feed, authenticate, turns, checkEveryMs = CHECK_EVERY_MS }: LiveDeps,
): Response => {
  if (feed.readers >= MAX_READERS) {
    throw gatewayError('server_overloaded', {
      message: `Too many readers of live requests: at most ${MAX_READERS} are served.`,
      retryAfterSeconds: 5,
    });
  }
  const over = new AbortController();
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
