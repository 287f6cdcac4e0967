import { wellFormed } from '../canonical/well-formed.ts';
import type { Clock } from '../kit/ambient.ts';
import type { Engine } from './engine.ts';
import { limitOutput } from './limit-output.ts';
import { stopAt } from './stop-sequences.ts';
import type { Tokenizer } from './tokenizer.ts';

/** Does for the backend what it cannot do itself. */
export const withEmulations = (engine: Engine, tokenizer: Tokenizer, clock: Clock): Engine => ({
  unheard: (request) => engine.unheard(request),
  run(request, signal, onSettled) {
    const { stop, maxOutputTokens: maxTokens } = request;
    const whole = engine.run(request, signal, onSettled);
    if (stop.length === 0 && maxTokens === null) return whole;
    const stopped = stop.length === 0 ? whole : stopAt(whole, stop, clock);
    const events = maxTokens === null ? stopped : limitOutput(stopped, { maxTokens, tokenizer, clock });
    return wellFormed(events, { clock });
  },
});
