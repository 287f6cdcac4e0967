import { failure } from '../canonical/failure.ts';
import { OpenItems } from '../canonical/open-items.ts';
import type { Plan } from './engine.ts';

/** Ends turns that take longer than this, from their start to their last event; 0: none. */
export const limitTime =
  (limitMs: number) =>
  (plan: Plan): Plan =>
    limitMs === 0
      ? plan
      : {
          ...plan,
          async *run(signal, onSettled) {
            const late = new AbortController();
            const timer = setTimeout(() => late.abort(), limitMs);
            const open = new OpenItems();
            let isEnded = false;
            try {
              const either = AbortSignal.any([signal, late.signal]);
              for await (const event of plan.run(either, onSettled)) {
                open.follow(event);
                isEnded ||= event.type === 'turn-ended';
                yield event;
              }
            } catch (error) {
              if (signal.aborted || !late.signal.aborted) throw error;
              if (isEnded) return;
              yield* open.endAll(false);
              const outcome = { kind: 'failed', failure: failure('turn_timeout') } as const;
              yield { type: 'turn-ended', outcome, usage: null };
            } finally {
              clearTimeout(timer);
            }
          },
        };
