import { failureOf, type Failure } from '../canonical/failure/failure.ts';
import type { Outcome } from '../canonical/events/outcome.ts';
import type { TurnEvent } from '../canonical/events/turn-event.ts';
import type { Usage } from '../canonical/events/usage.ts';
import type { Clock } from '../kit/ambient.ts';

export type TurnEnding =
  | { readonly kind: 'ended'; readonly outcome: Outcome }
  /** The turn broke before it could say how it ended. */
  | { readonly kind: 'thrown'; readonly failure: Failure }
  /** The reader went away, or the client behind it. */
  | { readonly kind: 'abandoned' };

export interface TurnSummary {
  readonly ending: TurnEnding;
  readonly usage: Usage | null;
  /** From the start of the request; null when nothing came. */
  readonly firstEventMs: number | null;
  readonly durationMs: number;
}

/** One who watches a turn from outside. For every `onStart` there is one `onEnd`. */
export interface TurnObserver {
  onStart?(): void;
  onEvent?(event: TurnEvent): void;
  onEnd?(summary: TurnSummary): void;
}

export interface TapOptions {
  readonly clock: Clock;
  /** When the request came, by the same clock. */
  readonly startedAt: number;
  /** Called with the first error of each observer in a turn; must not throw. */
  readonly onObserverError: (error: unknown) => void;
  /** The caller's: what breaks after it is aborted is the caller's going, not a failure of ours. */
  readonly signal?: AbortSignal;
}

/** Calls observers so that none can throw into the path. */
const shielded = (
  observers: readonly TurnObserver[],
  report: (error: unknown) => void,
): ((call: (observer: TurnObserver) => void) => void) => {
  const reported = new Set<TurnObserver>();
  return (call) => {
    for (const observer of observers) {
      try {
        call(observer);
      } catch (error) {
        if (!reported.has(observer)) report(error);
        reported.add(observer);
      }
    }
  };
};

/** Hands events on as they are while observers watch. */
export async function* tap(
  events: AsyncIterable<TurnEvent>,
  observers: readonly TurnObserver[],
  options: TapOptions,
): AsyncGenerator<TurnEvent, void, undefined> {
  const { clock, startedAt } = options;
  const tell = shielded(observers, options.onObserverError);
  let ending: TurnEnding = { kind: 'abandoned' };
  let usage: Usage | null = null;
  let firstEventMs: number | null = null;
  tell((observer) => observer.onStart?.());
  try {
    for await (const event of events) {
      firstEventMs ??= clock.now() - startedAt;
      if (event.type === 'turn-ended') {
        ending = { kind: 'ended', outcome: event.outcome };
        usage = event.usage;
      }
      tell((observer) => observer.onEvent?.(event));
      yield event;
    }
  } catch (error) {
    if (options.signal?.aborted !== true) ending = { kind: 'thrown', failure: failureOf(error) };
    throw error;
  } finally {
    const summary = { ending, usage, firstEventMs, durationMs: clock.now() - startedAt };
    tell((observer) => observer.onEnd?.(summary));
  }
}
