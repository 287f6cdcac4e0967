import {
  type TurnEvent,
  itemIdOf,
  type ItemDelta,
  type ItemEnded,
} from '../../canonical/events/turn-event.ts';
import { wellFormed } from '../../canonical/events/well-formed.ts';
import type { Clock } from '../../kit/ambient.ts';
import { Accumulator } from '../../canonical/events/accumulate.ts';
import { endItem, isMessage, isToolCall } from '../../canonical/request/item.ts';
import { BlockScan, BLOCK_OPENING } from './use-tool-block.ts';

/** When an answer in `obsidian-xml` ends early, and what is dropped from it. */
export interface StopRules {
  /** Whether calls are items or blocks in the text. */
  readonly callsAre: 'items' | 'blocks';
  /** Ends the answer after this many calls; null: no limit. */
  readonly maxCalls: number | null;
  /** Ends the answer if no other call starts within this time after a call; null: never. */
  readonly graceMs: number | null;
  /** Whether to drop text after the first call. */
  readonly dropsTail: boolean;
}

/** The configuration of early ends. */
export interface StopSettings {
  readonly stopAfterTools: 'first' | 'burst' | null;
  readonly stopGraceMs: number;
  readonly suppressTail: boolean;
  /** 0: no limit. */
  readonly toolBlockMax: number;
}

/** The rules for an answer; null: it is not changed. */
export const stopRules = (
  { stopAfterTools, stopGraceMs, suppressTail, toolBlockMax }: StopSettings,
  callsAre: StopRules['callsAre'],
): StopRules | null => {
  const max = toolBlockMax === 0 ? null : toolBlockMax;
  const rules: StopRules = {
    callsAre,
    maxCalls: stopAfterTools === 'first' ? 1 : max,
    graceMs: stopAfterTools === 'burst' ? stopGraceMs : null,
    dropsTail: suppressTail,
  };
  return rules.maxCalls === null && rules.graceMs === null && !suppressTail ? null : rules;
};

interface StopOptions {
  readonly clock: Clock;
  /** Cancels the turn, even if it sends no events. */
  readonly cancelTurn: () => void;
}

/** Ends an answer after its calls, by these rules. Its usage is unknown then. */
export const stopAfterTools = (
  events: AsyncIterable<TurnEvent>,
  rules: StopRules,
  options: StopOptions,
): AsyncIterable<TurnEvent> => wellFormed(stopped(events, rules, options), options);

async function* stopped(
  events: AsyncIterable<TurnEvent>,
  rules: StopRules,
  { clock, cancelTurn }: StopOptions,
): AsyncGenerator<TurnEvent> {
  const filter = new CallFilter(rules);
  const grace = new Grace(rules.graceMs);
  const iterator = events[Symbol.asyncIterator]();
  try {
    for (;;) {
      const elapsed = grace.watch(filter.isResting);
      const next = iterator.next();
      const step = await (elapsed === null ? next : Promise.race([next, elapsed]));
      if (step === 'over') next.catch(() => {});
      else if (step.done === true) return;
      else yield* filter.next(step.value);
      if (step === 'over' || filter.isFull) {
        cancelTurn();
        // Calls as blocks are part of the text, so the answer has no native calls.
        const kind = rules.callsAre === 'items' ? 'tool-calls' : 'completed';
        yield { type: 'turn-ended', outcome: { kind }, usage: null, isEndedHere: true, at: clock.now() };
        return;
      }
    }
  } finally {
    grace.end();
    await iterator.return?.();
  }
}

/** The time after a call in which another one may start. */
class Grace {
  readonly #ms: number | null;
  #running: { readonly timer: NodeJS.Timeout; readonly elapsed: Promise<'over'> } | null = null;

  constructor(ms: number | null) {
    this.#ms = ms;
  }

  /** Starts at the end of a call, and is cancelled by the next call. Returns null while it does not run. */
  watch(isResting: boolean): Promise<'over'> | null {
    if (!isResting) this.end();
    else if (this.#ms !== null) this.#running ??= this.#begin(this.#ms);
    return this.#running?.elapsed ?? null;
  }

  end(): void {
    clearTimeout(this.#running?.timer);
    this.#running = null;
  }

  #begin(ms: number): { readonly timer: NodeJS.Timeout; readonly elapsed: Promise<'over'> } {
    const { promise, resolve } = Promise.withResolvers<'over'>();
    return { timer: setTimeout(() => resolve('over'), ms), elapsed: promise };
  }
}

/** Counts the calls of an answer, and drops calls and text that the rules do not allow. */
class CallFilter {
  readonly #rules: StopRules;
  readonly #all = new Accumulator();
  /** Items that are dropped completely. */
  readonly #hidden = new Set<string>();
  /** Messages whose text is partly dropped. */
  readonly #cut = new Set<string>();
  readonly #scans = new Map<string, BlockScan>();
  #started = 0;
  #completed = 0;

  constructor(rules: StopRules) {
    this.#rules = rules;
  }

  /** Whether the answer has reached its maximum number of calls. */
  get isFull(): boolean {
    const { maxCalls } = this.#rules;
    return maxCalls !== null && this.#completed >= maxCalls;
  }

  /** Whether there was a call and none is open. */
  get isResting(): boolean {
    return this.#completed > 0 && this.#started === this.#completed;
  }

  get #dropsText(): boolean {
    return this.#rules.dropsTail && this.#completed > 0;
  }

  *next(event: TurnEvent): Generator<TurnEvent> {
    for (const emitted of this.#rules.callsAre === 'items' ? this.#byItems(event) : this.#byBlocks(event)) {
      this.#all.add(emitted);
      yield emitted;
    }
  }

  *#byItems(event: TurnEvent): Generator<TurnEvent> {
    if (event.type === 'item-started') {
      const isCall = isToolCall(event.item);
      // A call over the limit may start before the others are complete.
      const isTooMuch = isCall && this.#started >= (this.#rules.maxCalls ?? Infinity);
      if (isTooMuch || (isMessage(event.item) && this.#dropsText)) this.#hidden.add(event.item.id);
      else if (isCall) this.#started += 1;
    }
    if (this.#hidden.has(itemIdOf(event) ?? '')) return;
    if (event.type === 'item-ended' && isToolCall(event.item)) this.#completed += 1;
    const isText = event.type === 'item-delta' && (event.at === 'text' || event.at === 'refusal');
    if (isText && this.#dropsText) this.#cut.add(event.itemId);
    else yield event.type === 'item-ended' ? this.#ended(event) : event;
  }

  *#byBlocks(event: TurnEvent): Generator<TurnEvent> {
    if (event.type === 'item-delta' && event.at === 'text') {
      yield* this.#text(event);
      return;
    }
    if (event.type === 'item-delta' && event.at === 'refusal' && this.#dropsText) {
      this.#cut.add(event.itemId);
      return;
    }
    if (event.type !== 'item-ended') {
      yield event;
      return;
    }
    // An unclosed block ends with its message.
    if (this.#scans.get(event.item.id)?.isInside === true) this.#completed += 1;
    this.#scans.delete(event.item.id);
    yield this.#ended(event);
  }

  *#text(event: ItemDelta): Generator<TurnEvent> {
    const scan = this.#scans.get(event.itemId) ?? new BlockScan();
    this.#scans.set(event.itemId, scan);
    const { delta } = event;
    let emitted = '';
    let from = 0;
    let isShown = scan.isInside || !this.#dropsText;
    for (const mark of scan.read(delta)) {
      if (mark.kind === 'opened') {
        this.#started += 1;
        if (isShown) continue;
        // The dropped text contained the start of the tag.
        emitted += `\n${BLOCK_OPENING}`;
        from = mark.at + BLOCK_OPENING.length;
        isShown = true;
        continue;
      }
      this.#completed += 1;
      emitted += delta.slice(from, mark.at);
      from = mark.at;
      isShown = !this.#dropsText;
      if (this.isFull) break;
    }
    if (isShown && !this.isFull) emitted += delta.slice(from);
    // Positions of citations are invalid once text is dropped, so citations are dropped too.
    if (emitted === delta && (isShown || delta !== '') && !this.#cut.has(event.itemId)) {
      yield event;
      return;
    }
    this.#cut.add(event.itemId);
    if (emitted !== '') yield { type: 'item-delta', itemId: event.itemId, at: 'text', delta: emitted };
  }

  /** The ended item, without the dropped text. */
  #ended(event: ItemEnded): ItemEnded {
    const content = this.#all.contentOf(event.item.id);
    const head = this.#all.startedItem(event.item.id);
    if (!this.#cut.delete(event.item.id) || content === null || head === null) return event;
    const status = 'status' in event.item ? event.item.status : undefined;
    return { ...event, item: endItem(head, content, status ?? 'completed') };
  }
}
