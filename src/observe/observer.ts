import { failureOf, type Failure } from '../canonical/failure/failure.ts';
import type { Outcome, TurnEvent } from '../canonical/events/turn-event.ts';
import type { Usage } from '../canonical/events/usage.ts';
import { handleEvents } from '../canonical/events/handle-events.ts';
import type { Clock } from '../kit/ambient.ts';

export type TurnEnding =
  | { readonly kind: 'ended'; readonly outcome: Outcome }
  /** The turn threw before its end. */
  | { readonly kind: 'thrown'; readonly failure: Failure }
  /** The reader stopped, or the client disconnected. */
  | { readonly kind: 'abandoned' };

export interface TurnSummary {
  readonly ending: TurnEnding;
  readonly usage: Usage | null;
  /** From the start of the request; null if there was no event. */
  readonly firstEventMs: number | null;
  readonly durationMs: number;
}

/** Watches turns. Every `onStart` is followed by one `onEnd`. */
export interface TurnObserver {
  onStart?(): void;
  onEvent?(event: TurnEvent): void;
  onEnd?(summary: TurnSummary): void;
}

export interface TapOptions {
  readonly clock: Clock;
  /** When the request arrived, by the same clock. */
  readonly startedAt: number;
  /** Called with the first error of each observer in a turn; must not throw. */
  readonly onObserverError: (error: unknown) => void;
  /** The client's: an error after its abort is a disconnect, not a failure. */
  readonly signal?: AbortSignal;
}

type Tell = (observers: readonly TurnObserver[], call: (observer: TurnObserver) => void) => void;

/** Calls observers and catches their errors. */
const shielded = (report: (error: unknown) => void): Tell => {
  const reported = new Set<TurnObserver>();
  return (observers, call) => {
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

/** Passes events on unchanged while observers watch. */
export const tap = (
  events: AsyncIterable<TurnEvent>,
  observers: readonly TurnObserver[],
  options: TapOptions,
): AsyncIterable<TurnEvent> =>
  handleEvents(events, () => {
    const { clock, startedAt } = options;
    const tell = shielded(options.onObserverError);
    // Most observers only want the end.
    const watching = observers.filter((observer) => 'onEvent' in observer);
    let ending: TurnEnding = { kind: 'abandoned' };
    let usage: Usage | null = null;
    let firstEventMs: number | null = null;
    tell(observers, (observer) => observer.onStart?.());
    return {
      event(event) {
        firstEventMs ??= clock.now() - startedAt;
        if (event.type === 'turn-ended') {
          ending = { kind: 'ended', outcome: event.outcome };
          usage = event.usage;
        }
        // Not by `tell`: there are thousands of events.
        for (const observer of watching) {
          try {
            observer.onEvent?.(event);
          } catch (error) {
            tell([observer], () => {
              throw error;
            });
          }
        }
        return event;
      },
      thrown(error) {
        if (options.signal?.aborted !== true) ending = { kind: 'thrown', failure: failureOf(error) };
        throw error;
      },
      over() {
        const summary = { ending, usage, firstEventMs, durationMs: clock.now() - startedAt };
        tell(observers, (observer) => observer.onEnd?.(summary));
      },
    };
  });
