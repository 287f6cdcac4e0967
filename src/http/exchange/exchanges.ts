import { failureOf, gatewayError, GatewayError, type Failure } from '../../canonical/failure/failure.ts';
import type { Ambient } from '../../kit/ambient.ts';
import { within } from '../../kit/async/wait.ts';
import { toAccessLine, requestEnd } from '../../observe/request-end.ts';
import type { Logger } from '../../observe/log.ts';
import type { Metrics } from '../../observe/metrics.ts';
import type { RequestObserver } from '../../observe/request-observer.ts';
import { openExchange, type Exchange, type OpenExchange } from './exchange.ts';
import { loggedTraces, traceOf } from './trace-context.ts';

export interface ExchangesDeps {
  readonly ambient: Ambient;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Must not throw. */
  readonly observer: RequestObserver;
}

/** A request as the access log names it. */
export interface AskedRequest {
  readonly requestId: string;
  readonly method: string;
  readonly route: string;
  readonly headers: Headers;
  /** Of the peer; empty if it is unknown. */
  readonly address: string;
  readonly isLocal: () => boolean;
  readonly isOnThisMachine?: () => boolean;
  readonly reachedAt?: () => string | null;
  /** Aborted when the client disconnects. */
  readonly clientSignal: AbortSignal;
  /** Whether a client waits for it, and not a dashboard, a probe or a reader of the log of requests. Default: true. */
  readonly isOfClient?: boolean;
}

/** Time for aborted requests to end. */
const ABORT_GRACE_MS = 2_000;

/** All requests whose answer is not complete, whatever they came over. */
export class Exchanges {
  readonly #deps: ExchangesDeps;
  readonly #active = new Set<Exchange>();
  /** How many of them are of clients. */
  #ofClients = 0;
  #lastClientEnd = -Infinity;
  #drained: Promise<void> | null = null;
  #whenIdle: (() => void) | null = null;

  constructor(deps: ExchangesDeps) {
    this.#deps = deps;
  }

  /** At its end it is logged and counted. */
  open({ requestId, method, route, headers, isOfClient = true, ...asked }: AskedRequest): OpenExchange {
    const { ambient, logger, metrics } = this.#deps;
    const startedAt = ambient.clock.now();
    const traceContext = traceOf(headers);
    const request = { requestId, method, route, startedAt, backgroundId: null, traceContext };
    const watch = this.#deps.observer.open(request);
    const exchange = openExchange({
      requestId,
      startedAt,
      ...asked,
      distributed: watch?.distributed ?? null,
      onNote: (notes) => watch?.note?.(notes),
      onEnd: (notes) => {
        this.#active.delete(exchange);
        const endedAt = ambient.clock.now();
        if (isOfClient) {
          this.#ofClients -= 1;
          this.#lastClientEnd = endedAt;
        }
        const durationMs = endedAt - startedAt;
        const end = requestEnd(request, { ...loggedTraces(headers), ...notes }, durationMs);
        logger.info(toAccessLine(end), 'request');
        watch?.end?.(end);
        metrics.requests.inc({ route, status: String(end.status) });
        metrics.requestSeconds.observe(durationMs / 1000);
        if (this.#active.size === 0) this.#whenIdle?.();
      },
    });
    this.#active.add(exchange);
    if (isOfClient) this.#ofClients += 1;
    return exchange;
  }

  /** The failure to report to the client of an exchange that threw. Bugs are logged. */
  failed(exchange: Exchange, error: unknown): Failure {
    const failed = failureOf(error);
    exchange.note({ failure: failed });
    if (failed.kind === 'invalid_json') this.#deps.metrics.parseFailures.inc({ of: 'request_body' });
    if (failed.kind === 'server_error' && !exchange.signal.aborted) {
      const err = error instanceof GatewayError ? (error.cause ?? error) : error;
      this.#deps.logger.error({ requestId: exchange.requestId, err }, 'request failed');
    }
    return failed;
  }

  get count(): number {
    return this.#active.size;
  }

  /** When a client last waited for an answer: now, if one does; -Infinity: none has yet. */
  get lastClientAt(): number {
    return this.#ofClients > 0 ? this.#deps.ambient.clock.now() : this.#lastClientEnd;
  }

  get isDraining(): boolean {
    return this.#drained !== null;
  }

  /** Waits for the running exchanges up to the limit, then aborts the rest. A second call waits with the first. */
  drain(timeoutMs: number): Promise<void> {
    this.#drained ??= this.#end(timeoutMs);
    return this.#drained;
  }

  async #end(timeoutMs: number): Promise<void> {
    if (this.#active.size === 0) return;
    const idle = new Promise<void>((resolve) => {
      this.#whenIdle = resolve;
    });
    const timer = setTimeout(() => {
      for (const exchange of this.#active) exchange.abort(gatewayError('shutting_down'));
    }, timeoutMs);
    // Handlers that ignore the abort must not keep the process alive.
    await within(idle, timeoutMs + ABORT_GRACE_MS);
    clearTimeout(timer);
  }
}
