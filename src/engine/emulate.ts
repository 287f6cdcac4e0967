import type { Engine } from './engine.ts';
import { limitOutput } from './limit-output.ts';
import { stopAt } from './stop-sequences.ts';
import type { Tokenizer } from './tokenizer.ts';

/** Does for the backend what it cannot do itself. */
export const withEmulations = (engine: Engine, tokenizer: Tokenizer): Engine => ({
  unheard: (request) => engine.unheard(request),
  run(request, signal, onSettled) {
    const whole = engine.run(request, signal, onSettled);
    const events = request.stop.length === 0 ? whole : stopAt(whole, request.stop);
    const { maxOutputTokens } = request;
    return maxOutputTokens === null ? events : limitOutput(events, maxOutputTokens, tokenizer);
  },
});
