import { isToolCall } from '../../canonical/request/item.ts';
import {
  isEmptyDelta,
  type ItemDelta,
  type TurnEvent,
  type StopEarly,
} from '../../canonical/events/turn-event.ts';
import { wellFormed } from '../../canonical/events/well-formed.ts';
import type { Clock } from '../../kit/ambient.ts';
import { yieldToLoop } from '../../kit/async/event-loop.ts';
import { firstAborted } from '../../kit/async/wait.ts';
import { append } from '../../kit/collections/lists.ts';
import { isJsonObject, type Json } from '../../kit/json/json.ts';
import type { Plan } from '../engine.ts';
import type { Step } from './step.ts';

/** Ends the answer, and its turn, where the dialect of the client says so. */
export const stopEarly: Step<{ readonly stopEarly: StopEarly | null }> = {
  name: 'stop-early',
  why: 'Some clients run tools as soon as they have read their calls. Around the repair, so that only valid calls end an answer.',
  wrap: (next, { stopEarly: endEarly }) =>
    endEarly === null
      ? next
      : (request, context) => {
          const plan = next(request, context);
          return { ...plan, run: (...how) => endingEarly(plan, endEarly, how) };
        },
};

async function* endingEarly(
  plan: Plan,
  endEarly: StopEarly,
  [signal, onSettled]: Parameters<Plan['run']>,
): AsyncGenerator<TurnEvent> {
  const left = new AbortController();
  const events = plan.run(firstAborted(signal, left.signal), onSettled);
  yield* endEarly(events, () => left.abort());
}

/** Log probabilities of a text that is cut or held back. Each is sent with the beginning of its token. */
export class HeldLogprobs {
  /** Those before `#from` were sent; removing each from a long list would be slow. */
  #waiting: Json[] = [];
  #from = 0;
  /** How many of the next characters belong to a token that was sent. */
  #ahead = 0;

  add(logprobs: readonly Json[]): void {
    append(this.#waiting, logprobs);
  }

  /** The log probabilities of tokens that begin in the next `length` characters. */
  take(length: number): readonly Json[] {
    let to = this.#from;
    let at = this.#ahead;
    while (at < length && to < this.#waiting.length) {
      at += lengthOf(this.#waiting[to]);
      to += 1;
    }
    this.#ahead = Math.max(at - length, 0);
    const taken = this.#waiting.slice(this.#from, to);
    this.#from = to;
    if (to === this.#waiting.length) this.#clear();
    return taken;
  }

  /** All that are left. */
  rest(): readonly Json[] {
    const rest = this.#waiting.slice(this.#from);
    this.#clear();
    this.#ahead = 0;
    return rest;
  }

  #clear(): void {
    this.#waiting = [];
    this.#from = 0;
  }
}

/** The delta with only the beginning of its text, and the log probabilities of that. */
export const cutDelta = ({ itemId, at, logprobs }: ItemDelta, delta: string): ItemDelta => {
  const held = new HeldLogprobs();
  held.add(logprobs ?? []);
  return withLogprobs({ type: 'item-delta', itemId, at, delta }, held.take(delta.length));
};

export const withLogprobs = (event: ItemDelta, logprobs: readonly Json[]): ItemDelta => {
  const { logprobs: _, ...rest } = event;
  return logprobs.length === 0 ? rest : { ...rest, logprobs };
};

const lengthOf = (logprob: Json | undefined): number => {
  const token = isJsonObject(logprob) ? logprob['token'] : '';
  return typeof token === 'string' ? token.length : 0;
};

/** Ends answers before the client's stop sequences. */
export const stopSequences: Step<{ readonly clock: Clock }> = {
  name: 'stop-sequences',
  why: '`stop` of Chat and `stop_sequences` of Messages: no backend of an app-server has it, so it is removed from the request. Around whatever writes text, so that no text escapes it.',
  wrap:
    (next, { clock }) =>
    (request, context) => {
      const { stop } = request;
      if (stop.length === 0) return next(request, context);
      const plan = next({ ...request, stop: [] }, context);
      return {
        ...plan,
        run: (signal, onSettled) =>
          wellFormed(stopAt(plan.run(signal, onSettled), stop, { clock, signal }), { clock }),
      };
    },
};

/**
 * Ends the answer before the first of these texts, even if it is split over deltas. Holds back only text that may become
 * a stop sequence. `wellFormed` around it ends the open items. Leaving the source early interrupts the turn.
 */
export async function* stopAt(
  events: AsyncIterable<TurnEvent>,
  stops: readonly string[],
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): AsyncGenerator<TurnEvent> {
  const machines = stops.map(machineOf);
  const searches = new Map<string, StopSearch>();
  let hasCalls = false;
  for await (const event of events) {
    if (event.type === 'item-ended' && isToolCall(event.item)) hasCalls = true;
    // The refusal or the end of an item follows its text.
    if (event.type === 'item-ended' || (event.type === 'item-delta' && event.at === 'refusal')) {
      const id = event.type === 'item-ended' ? event.item.id : event.itemId;
      const search = searches.get(id);
      searches.delete(id);
      if (search !== undefined && search.held !== '') yield heldBy(search, id);
    }
    if (event.type !== 'item-delta' || event.at !== 'text') {
      yield event;
      continue;
    }
    const search = searches.get(event.itemId) ?? new StopSearch(machines);
    searches.set(event.itemId, search);
    search.logprobs.add(event.logprobs ?? []);
    const { safe, stop } = await search.add(event.delta, signal);
    if (stop === null) {
      const logprobs = search.held === '' ? search.logprobs.rest() : search.logprobs.take(safe.length);
      const passed = withLogprobs({ ...event, delta: safe }, logprobs);
      if (!isEmptyDelta(passed)) yield passed;
      continue;
    }
    if (safe !== '') yield withLogprobs(textOf(event.itemId, safe), search.logprobs.take(safe.length));
    // Text held back in other items is not part of a stop.
    searches.delete(event.itemId);
    for (const [other, held] of searches) {
      if (held.held !== '') yield heldBy(held, other);
    }
    yield {
      type: 'turn-ended',
      // The outcome must report calls before the stop.
      outcome: hasCalls ? { kind: 'tool-calls' } : { kind: 'completed', stop },
      usage: null,
      isEndedHere: true,
      at: clock.now(),
    };
    return;
  }
}

const textOf = (itemId: string, delta: string): ItemDelta => ({
  type: 'item-delta',
  itemId,
  at: 'text',
  delta,
});

const heldBy = ({ held, logprobs }: StopSearch, itemId: string): ItemDelta =>
  withLogprobs(textOf(itemId, held), logprobs.rest());

/** A stop sequence with its failure table (Knuth, Morris and Pratt). */
interface StopMachine {
  readonly stop: string;
  readonly fallbacks: Uint32Array;
}

const machineOf = (stop: string): StopMachine => {
  const fallbacks = new Uint32Array(stop.length + 1);
  for (let length = 1, fallback = 0; length < stop.length; length += 1) {
    while (fallback > 0 && stop[length] !== stop[fallback]) fallback = fallbacks[fallback] ?? 0;
    if (stop[length] === stop[fallback]) fallback += 1;
    fallbacks[length + 1] = fallback;
  }
  return { stop, fallbacks };
};

/** Comparisons, one for each character and stop, before other requests get their share of the loop. */
const COMPARISONS = 256 * 1024;

/** Searches one message for stops. Reads each character once, however the text is split into deltas. */
class StopSearch {
  readonly #machines: readonly StopMachine[];
  /** For each stop, the length of its beginning that the text ends with. */
  readonly #matched: Uint32Array;
  #comparisons = 0;
  /** The end of the text that may be the beginning of a stop. */
  held = '';
  readonly logprobs = new HeldLogprobs();

  constructor(machines: readonly StopMachine[]) {
    this.#machines = machines;
    this.#matched = new Uint32Array(machines.length);
  }

  /** The text that may be sent now, and the stop that follows it, or null. */
  async add(
    delta: string,
    signal: AbortSignal,
  ): Promise<{ readonly safe: string; readonly stop: string | null }> {
    const text = this.held + delta;
    for (let at = this.held.length; at < text.length; at += 1) {
      this.#comparisons += this.#machines.length;
      if (this.#comparisons >= COMPARISONS) {
        this.#comparisons = 0;
        await yieldToLoop(signal);
      }
      const stop = this.#step(text.charCodeAt(at));
      if (stop !== null) return { safe: text.slice(0, at + 1 - stop.length), stop };
    }
    const end = text.length - Math.max(...this.#matched);
    this.held = text.slice(end);
    return { safe: text.slice(0, end), stop: null };
  }

  /** The stop that this character completes, or null; of two that end together, the longer one. */
  #step(char: number): string | null {
    let found: string | null = null;
    for (const [index, { stop, fallbacks }] of this.#machines.entries()) {
      let matched = this.#matched[index] ?? 0;
      while (matched > 0 && stop.charCodeAt(matched) !== char) matched = fallbacks[matched] ?? 0;
      if (stop.charCodeAt(matched) === char) matched += 1;
      this.#matched[index] = matched;
      if (matched === stop.length && stop.length > (found?.length ?? 0)) found = stop;
    }
    return found;
  }
}
