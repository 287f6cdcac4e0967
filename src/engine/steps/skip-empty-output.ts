import type { Clock } from '../../kit/ambient.ts';
import type { Step } from './step.ts';

/** Answers a request for zero output tokens without asking the model. */
export const skipEmptyOutput: Step<{ readonly clock: Clock }> = {
  name: 'skip-empty-output',
  why: 'A request for zero output tokens needs no model. Around the output limit, which would ask the model first.',
  wrap:
    (next, { clock }) =>
    (request, context) => {
      const plan = next(request, context);
      if (request.maxOutputTokens !== 0) return plan;
      return {
        ...plan,
        async *run(_, onSettled) {
          onSettled?.();
          yield { type: 'turn-accepted', ignored: plan.ignored, limitsOutput: true, headers: {} };
          const outcome = { kind: 'incomplete', reason: 'max_output_tokens' } as const;
          yield { type: 'turn-ended', outcome, usage: null, isEndedHere: true, at: clock.now() };
        },
      };
    },
};
