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

/** Counts the calls of an answer, and leaves out what its rules do not let through. */
export class CallCounting {
  readonly #rules: StopRules;
  readonly #all = new Accumulator();
  /** Items of which nothing is told. */
  readonly #hidden = new Set<string>();
  /** Messages of which not all is told. */
  readonly #cut = new Set<string>();
  readonly #scans = new Map<string, BlockScan>();
  #begun = 0;
  #whole = 0;

  constructor(rules: StopRules) {
    this.#rules = rules;
  }

  /** The answer has all calls that it may have. */
  get isFull(): boolean {
    const { maxCalls } = this.#rules;
    return maxCalls !== null && this.#whole >= maxCalls;
  }

  /** There was a call, and none is under way. */
  get isResting(): boolean {
    return this.#whole > 0 && this.#begun === this.#whole;
  }

  get #dropsText(): boolean {
    return this.#rules.dropsTail && this.#whole > 0;
  }

  *next(event: TurnEvent): Generator<TurnEvent> {
    for (const told of this.#rules.callsAre === 'items' ? this.#byItems(event) : this.#byBlocks(event)) {
      this.#all.add(told);
      yield told;
    }
  }

  *#byItems(event: TurnEvent): Generator<TurnEvent> {
    if (event.type === 'item-started') {
      const isCall = isToolCall(event.item);
      // One that is too much may have begun before the others were whole.
      const isTooMuch = isCall && this.#begun >= (this.#rules.maxCalls ?? Infinity);
      if (isTooMuch || (isMessage(event.item) && this.#dropsText)) this.#hidden.add(event.item.id);
      else if (isCall) this.#begun += 1;
    }
    if (this.#hidden.has(itemIdOf(event) ?? '')) return;
    if (event.type === 'item-ended' && isToolCall(event.item)) this.#whole += 1;
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
    // A block that was not closed ends with its message.
    if (this.#scans.get(event.item.id)?.isInside === true) this.#whole += 1;
    this.#scans.delete(event.item.id);
    yield this.#ended(event);
  }

  *#text(event: ItemDelta): Generator<TurnEvent> {
    const scan = this.#scans.get(event.itemId) ?? new BlockScan();
    this.#scans.set(event.itemId, scan);
    const { delta } = event;
    let told = '';
    let from = 0;
    let isShown = scan.isInside || !this.#dropsText;
    for (const mark of scan.read(delta)) {
      if (mark.kind === 'opened') {
        this.#begun += 1;
        if (isShown) continue;
        // What was left out held some of its tag.
        told += `\n${OPENING}`;
        from = mark.at + OPENING.length;
        isShown = true;
        continue;
      }
      this.#whole += 1;
      told += delta.slice(from, mark.at);
      from = mark.at;
      isShown = !this.#dropsText;
      if (this.isFull) break;
    }
    if (isShown && !this.isFull) told += delta.slice(from);
    // Citations count from the beginning of a text, and so are lost with any of it.
    if (told === delta && (isShown || delta !== '') && !this.#cut.has(event.itemId)) {
      yield event;
      return;
    }
    this.#cut.add(event.itemId);
    if (told !== '') yield { type: 'item-delta', itemId: event.itemId, at: 'text', delta: told };
  }

  /** An item of which something was left out holds what was told. */
  #ended(event: ItemEnded): ItemEnded {
    const said = this.#all.contentOf(event.item.id);
    const head = this.#all.startedItem(event.item.id);
    if (!this.#cut.delete(event.item.id) || said === null || head === null) return event;
    const status = 'status' in event.item ? event.item.status : undefined;
    return { ...event, item: endItem(head, said, status ?? 'completed') };
  }
}
