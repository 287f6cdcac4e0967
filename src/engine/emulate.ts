import type { Engine } from './engine.ts';
import { limitOutput } from './limit-output.ts';
import type { Tokenizer } from './tokenizer.ts';

/** Does for the backend what it cannot do itself. */
export const withEmulations = (engine: Engine, loadTokenizer: () => Promise<Tokenizer>): Engine => ({
  async *run(request, signal) {
    const events = engine.run(request, signal);
    if (request.maxOutputTokens === null) yield* events;
    else yield* limitOutput(events, request.maxOutputTokens, await loadTokenizer());
  },
});
