import { Accumulator } from '../../canonical/events/accumulate.ts';
import { endItem, isMessage, isToolCall } from '../../canonical/request/item.ts';
import {
  itemIdOf,
  type ItemDelta,
  type ItemEnded,
  type TurnEvent,
} from '../../canonical/events/turn-event.ts';
import { BlockScan } from './block-scan.ts';
import type { StopRules } from './stop-rules.ts';
import { OPENING } from './use-tool-block.ts';

/** Counts the calls of an answer, and drops calls and text that the rules do not allow. */
export class CallFilter {
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
        emitted += `\n${OPENING}`;
        from = mark.at + OPENING.length;
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
