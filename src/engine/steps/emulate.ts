import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import type { Turn } from '../../canonical/context/turn-context.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { wellFormed } from '../../canonical/events/well-formed.ts';
import type { Clock } from '../../kit/ambient.ts';
import type { Engine, Plan } from '../engine.ts';
import { limitOutput } from './limit-output.ts';
import { stopAt } from './stop-sequences.ts';
import { tokenizerFor, type Tokenizer } from '../tokenizer.ts';

/** Does for a backend what it cannot do itself. */
export interface Emulation {
  /** What the backend is asked for instead. */
  request(request: TurnRequest): TurnRequest;
  /** The events of that, as the caller is to see them. `request` is the caller's own, the signal the turn's. */
  events(events: AsyncIterable<TurnEvent>, turn: Turn, signal: AbortSignal): AsyncIterable<TurnEvent>;
}

/** The plan for what is asked instead, with the caller's own view of its events. */
export const emulate = (engine: Engine, emulation: Emulation): Engine => ({
  plan(request, context) {
    const plan = engine.plan(emulation.request(request), context);
    return {
      ...plan,
      run: (signal, onSettled) => emulation.events(plan.run(signal, onSettled), { request, context }, signal),
    };
  },
});

/** No backend behind an app-server has stops. */
const stops = (clock: Clock): Emulation => ({
  request: (request) => (request.stop.length === 0 ? request : { ...request, stop: [] }),
  events: (events, { request: { stop } }, signal) =>
    stop.length === 0 ? events : wellFormed(stopAt(events, stop, { clock, signal }), { clock }),
});

/** A backend that keeps the limit itself is left to it: so the request goes on as it is. */
const outputLimit = (tokenizer: Tokenizer, clock: Clock): Emulation => ({
  request: (request) => request,
  events: (events, { request: { maxOutputTokens: maxTokens }, context }, signal) => {
    if (maxTokens === null) return events;
    const limit = { maxTokens, tokenizer: tokenizerFor(tokenizer, context.caller.keyId), clock, signal };
    return wellFormed(limitOutput(events, limit), { clock });
  },
});

/** A request for no output at all needs no model. */
const withoutOutput = (engine: Engine, clock: Clock): Engine => ({
  plan(request, context) {
    const plan = engine.plan(request, context);
    return request.maxOutputTokens === 0
      ? { ...plan, run: (_, onSettled) => nothing(plan, clock, onSettled) }
      : plan;
  },
});

async function* nothing(
  { ignored }: Plan,
  clock: Clock,
  onSettled: (() => void) | undefined,
): AsyncGenerator<TurnEvent> {
  onSettled?.();
  yield { type: 'turn-accepted', ignored, limitsOutput: true, headers: {} };
  const outcome = { kind: 'incomplete', reason: 'max_output_tokens' } as const;
  yield { type: 'turn-ended', outcome, usage: null, isEndedHere: true, at: clock.now() };
}

export const withEmulations = (engine: Engine, tokenizer: Tokenizer, clock: Clock): Engine =>
  withoutOutput([stops(clock), outputLimit(tokenizer, clock)].reduce(emulate, engine), clock);
