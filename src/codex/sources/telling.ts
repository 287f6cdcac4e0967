import { failure, type Failure } from '../../canonical/failure.ts';
import { Accumulator } from '../../canonical/next/accumulate.ts';
import type { Item, Produced, Slot } from '../../canonical/next/item.ts';
import type { ItemDelta, TurnEvent } from '../../canonical/next/turn-event.ts';
import { statusAfter } from '../../canonical/next/well-formed.ts';
import type { Outcome } from '../../canonical/outcome.ts';
import type { Usage } from '../../canonical/usage.ts';
import { ItemIds } from '../translate/item-ids.ts';
import { headOf, textsOf, withSaid } from './item-texts.ts';
import type { ReadItem } from './read-item.ts';
import type { SourceOptions } from './source.ts';

/** A model that cannot stop would otherwise be asked again for ever. */
const MAX_UNDECLARED_CALLS = 16;

const PREFIXES: Readonly<Record<Item['kind'], string>> = {
  message: 'msg',
  reasoning: 'rs',
  'tool-call': 'fc',
  'tool-output': 'fco',
  'hosted-call': 'item',
  compaction: 'item',
  opaque: 'item',
};

/**
 * What both sources do with items: gives them ids, keeps those back that are not for the client, says
 * what has not been said of an item when it is whole, and ends what is open when the turn ends.
 */
export class Telling {
  readonly #options: SourceOptions;
  readonly #all = new Accumulator();
  readonly #ids: ItemIds;
  #calls = 0;
  #undeclaredCalls = 0;
  #ended = false;

  constructor(options: SourceOptions) {
    this.#options = options;
    this.#ids = new ItemIds(options.ids);
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Whether the client has calls to answer. */
  get hasCalls(): boolean {
    return this.#calls > 0;
  }

  /** The item, if the client may see it; it is asked once for each item. */
  judge(item: ReadItem): Item | null {
    if (item === 'not-for-clients') return null;
    if (item === 'codex-call') return this.#undeclared();
    if (item.kind !== 'tool-call') return item;
    // codex answers what it does not know itself and asks the model again.
    if (item.tool !== 'function' || !this.#options.callable.has(item.name)) return this.#undeclared();
    if (this.#calls > 0 && !this.#options.parallelToolCalls) {
      this.#options.onOddity('second-call-dropped');
      return null;
    }
    this.#calls += 1;
    return item;
  }

  /** Set when the model has called undeclared tools too often. */
  get hopeless(): Failure | null {
    if (this.#undeclaredCalls <= MAX_UNDECLARED_CALLS) return null;
    return failure('upstream_error', { message: 'The model keeps calling tools that were not declared.' });
  }

  /** Ours for an upstream id of which something was told. */
  known(upstreamId: string): string | undefined {
    return this.#ids.known(upstreamId);
  }

  isOpen(itemId: string): boolean {
    return this.#all.headOf(itemId) !== null;
  }

  start(item: Item, upstreamId: string, into: TurnEvent[]): string {
    const id = this.#ids.create(upstreamId, PREFIXES[item.kind]);
    const head: Produced = { ...headOf(item), id };
    this.#say({ type: 'item-started', item: head }, into);
    return id;
  }

  delta(event: ItemDelta, into: TurnEvent[]): void {
    this.#say(event, into);
  }

  status(itemId: string, status: string, into: TurnEvent[]): void {
    this.#say({ type: 'item-status', itemId, status }, into);
  }

  /** The item is whole: what of it was not said yet is said, and it ends. */
  finish(itemId: string, whole: Item, into: TurnEvent[]): void {
    const head = this.#all.headOf(itemId);
    const said = this.#all.saidOf(itemId);
    if (head === null || said === null) return;
    for (const [at, text] of textsOf(whole)) this.rest(itemId, at, text, into);
    const item = { ...head, ...withSaid(whole, said), id: itemId } as Produced;
    this.#say({ type: 'item-ended', item }, into);
  }

  /** The items that are open are whole, and nobody says them again. */
  finishOpen(into: TurnEvent[]): void {
    for (const event of this.#all.endOpen('completed')) into.push(event);
  }

  end(outcome: Outcome, usage: Usage | null, into: TurnEvent[]): void {
    this.#ended = true;
    for (const event of this.#all.endOpen(statusAfter(outcome))) into.push(event);
    into.push({ type: 'turn-ended', outcome, usage, at: this.#options.clock.now() });
  }

  /** What of a whole text has not been streamed; nothing where the stream said something else. */
  rest(itemId: string, at: Slot, whole: string, into: TurnEvent[]): void {
    const streamed = this.#all.textOf(itemId, at);
    if (!whole.startsWith(streamed)) this.#options.onOddity('text-differs');
    else if (whole.length > streamed.length) {
      this.#say({ type: 'item-delta', itemId, at, delta: whole.slice(streamed.length) }, into);
    }
  }

  #undeclared(): null {
    this.#options.onOddity('undeclared-call');
    this.#undeclaredCalls += 1;
    return null;
  }

  #say(event: TurnEvent, into: TurnEvent[]): void {
    this.#all.add(event);
    into.push(event);
  }
}
