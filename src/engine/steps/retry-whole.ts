import type { ModelBudget } from '../../canonical/context/model-budget.ts';
import { isModelCall, type TurnEvent } from '../../canonical/events/turn-event.ts';
import type { Plan } from '../engine.ts';
import { holdBack, release } from './hold-back.ts';
import { Settling, type Step } from './step.ts';

const ATTEMPTS = 2;

/** Runs a turn again if its worker died during the answer and the client has seen none of it. */
export const retryWhole: Step<{ readonly isStream: boolean }> = {
  name: 'retry-whole',
  why: 'For an answer that is sent whole: the client sees nothing until it is over, so it can be run again. Only its acceptance is sent at once.',
  wrap: (next, { isStream }) =>
    isStream
      ? next
      : (request, context) => {
          const plan = next(request, context);
          return { ...plan, run: (...how) => untilWhole(plan, how, context.budget) };
        },
};

async function* untilWhole(
  plan: Plan,
  [signal, onSettled]: Parameters<Plan['run']>,
  budget: ModelBudget,
): AsyncGenerator<TurnEvent> {
  for (let attempt = 1; ; attempt += 1) {
    const settling = new Settling(onSettled);
    let isAccepted = false;
    const held = yield* holdBack(plan.run(signal, settling.settle), {
      judge({ type }) {
        if (type !== 'turn-accepted') return 'hold';
        isAccepted = true;
        return attempt === 1 ? 'send' : 'drop';
      },
      whenFull: 'decide',
      settling,
      signal,
    });
    if (held === null) return;
    // The engine retries a turn that is lost before it is accepted. A tool that may have run must not run again.
    const mayRepeat = isAccepted && wasLost(held.at(-1)) && !held.some(isModelCall);
    if (mayRepeat && attempt < ATTEMPTS && budget.retry('worker lost')) continue;
    settling.markLast();
    yield* release(held, signal);
    return;
  }
}

const wasLost = (last: TurnEvent | undefined): boolean =>
  last?.type === 'turn-ended' &&
  last.outcome.kind === 'failed' &&
  last.outcome.failure.kind === 'worker_lost';
