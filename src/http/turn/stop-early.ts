import type { Plan } from '../../engine/engine.ts';
import type { Clock } from '../../kit/ambient.ts';
import { stopAfterTools } from '../../openai/dialects/stop-after-tools.ts';
import type { StopRules } from '../../openai/dialects/stop-rules.ts';

/** A plan whose answer ends by these rules, and its turn with it: also one that is silent then. */
export const stopEarly = (plan: Plan, rules: StopRules | null, clock: Clock): Plan =>
  rules === null
    ? plan
    : {
        ...plan,
        async *run(signal, onSettled) {
          const left = new AbortController();
          const events = plan.run(AbortSignal.any([signal, left.signal]), onSettled);
          yield* stopAfterTools(events, rules, { clock, cancelTurn: () => left.abort() });
        },
      };
