import { failure } from '../../canonical/failure/failure.ts';
import { Accumulator } from '../../canonical/events/accumulate.ts';
import type { HostedCall, ItemContent, ItemStatus, Opaque, Produced } from '../../canonical/request/item.ts';
import type { ItemDelta, TurnEvent } from '../../canonical/events/turn-event.ts';
import { statusAfter } from '../../canonical/events/well-formed.ts';
import type { Outcome } from '../../canonical/events/outcome.ts';
import type { Usage } from '../../canonical/events/usage.ts';
import type { Json, JsonObject } from '../../kit/json/json.ts';
import type { Progress } from './answer-events.ts';
import { ItemIds } from './item-ids.ts';
import { itemLimitOutcome } from './item-limit.ts';
import { approvalRequest, endOfCall, mcpCallHead, NOT_RUN, type McpOutcome } from './mcp-calls.ts';
import {
  startFields,
  headOf,
  ID_PREFIXES,
  DROPPED,
  textsOf,
  withInput,
  withStreamed,
  type OutputItem,
  type ReadItem,
  type Unreadable,
} from './read-item.ts';
import type { SourceOptions } from './source.ts';

/** A model that cannot stop would otherwise be asked again for ever. */
const MAX_UNDECLARED_CALLS = 16;

const COMPLETED: Outcome = { kind: 'completed' };
const UNANSWERED = { message: 'The model called a tool that was not declared, and nothing else followed.' };

/** An index of the upstream's must not make a list of any length. */
const MAX_PARTS = 1_000;

/**
 * What both sources do with items: gives them ids, keeps those back that are not for the client, says
 * what has not been said of an item when it is whole, and ends what is open when the turn ends.
 */
export class TurnItems {
  readonly #options: SourceOptions;
  readonly #all = new Accumulator();
  readonly #ids: ItemIds;
  /** Citations that came in front of the text that they are about, by item. */
  readonly #earlyCitations = new Map<string, ItemDelta[]>();
  /** How many items were there before the model's last answer. */
  #before = 0;
  /** The items of calls that the app-server runs, by what the model calls them. */
  readonly #running = new Map<string, string>();
  #calls = 0;
  /** The ids of all calls that were told. */
  readonly #callIds = new Set<string>();
  /** What hosted tools ask of the client, by the id that its answer will name. */
  readonly #asked = new Set<Json | undefined>();
  #undeclaredCalls = 0;
  /** Items that were judged, also those that clients do not see. */
  #seenItems = 0;
  #isOverCalls = false;
  /** Whether the last answer has one of them, and nothing behind it. */
  #hasUndeclared = false;
  /** Why an item of the last answer was dropped. */
  #droppedReason: Unreadable | null = null;
  #ended = false;

  constructor(options: SourceOptions) {
    this.#options = options;
    this.#ids = new ItemIds(options.ambient.ids);
  }

  get ended(): boolean {
    return this.#ended;
  }

  /**
   * How the turn ends with this answer: the client has calls to answer, or a hosted tool waits for something that
   * only the client can do. Null: it may go on.
   */
  get lastOutcome(): Outcome | null {
    if (this.#calls > 0) return { kind: 'tool-calls' };
    return this.#asked.size > 0 ? { kind: 'completed' } : null;
  }

  /** What of the model's last answer was told. */
  get answer(): readonly Produced[] {
    return this.#all.endedFrom(this.#before);
  }

  /** The model is asked once more, or for the first time. */
  beginAnswer(): void {
    this.#before = this.#all.size;
    this.#hasUndeclared = false;
    this.#droppedReason = null;
  }

  /** The model was interrupted, and is asked anew: what it had begun to say stays a beginning. */
  abandonAnswer(into: TurnEvent[]): void {
    this.#endOpen('incomplete', into);
    this.#calls = 0;
    this.#asked.clear();
  }

  /** Whether the app-server runs tools. */
  get isRunning(): boolean {
    return this.#running.size > 0;
  }

  /** The item, if the client may see it; it is asked once for each item. */
  visibleItem(item: ReadItem): OutputItem | null {
    this.#seenItems += 1;
    const told = this.#classified(item);
    // The model went on by itself: what it called in vain is not the last thing that it did.
    if (told !== null && told.kind !== 'reasoning') this.#hasUndeclared = false;
    return told;
  }

  #classified(item: ReadItem): OutputItem | null {
    if (item === 'not-for-clients') return null;
    if (typeof item === 'string') return this.#dropped(item);
    if ('raw' in item) return this.#hosted(item);
    if (item.kind !== 'tool-call') return item;
    const target = this.#options.findMcpTool(item);
    if (target !== null) {
      if (target.isWithdrawn === true) {
        this.#isOverCalls = true;
        return null;
      }
      if (!target.needsApproval) return mcpCallHead(target, item.callId);
      this.#asked.add(item.callId);
      return approvalRequest(target, item);
    }
    const call = this.#options.callable.known(item);
    // codex answers what it does not know itself and asks the model again.
    if (call === null) return this.#undeclared();
    if (this.#calls > 0 && !this.#options.parallelToolCalls) {
      this.#options.onAnomaly('second-call-dropped');
      return null;
    }
    this.#calls += 1;
    return { ...call, callId: this.#freshCallId(call.callId) };
  }

  /** The client answers calls by their ids, so each call has one, and no two have the same. */
  #freshCallId(given: string): string {
    const isTaken = this.#callIds.has(given);
    if (isTaken) this.#options.onAnomaly('call-id-twice');
    const callId = given === '' || isTaken ? this.#options.ambient.ids.mint('call') : given;
    this.#callIds.add(callId);
    return callId;
  }

  #dropped(why: Unreadable): null {
    this.#droppedReason = why;
    this.#options.onAnomaly(why === 'no_type' ? 'item-without-type' : 'item-without-name');
    return null;
  }

  /** The model will be asked again, about calls that are not the client's. */
  get willAskAgain(): boolean {
    return this.lastOutcome === null && (this.isRunning || this.#hasUndeclared);
  }

  /** How the turn ends with too many items or calls of undeclared tools, or a call of a tool that was withdrawn. */
  get fatalOutcome(): Outcome | null {
    if (this.#isOverCalls) return { kind: 'incomplete', reason: 'max_tool_calls' };
    const beyond = itemLimitOutcome(Math.max(this.#seenItems, this.#all.size));
    if (beyond !== null || this.#undeclaredCalls <= MAX_UNDECLARED_CALLS) return beyond;
    const message = 'The model keeps calling tools that were not declared.';
    return { kind: 'failed', failure: failure('upstream_error', { message }) };
  }

  /** How a turn ended that codex calls completed: there are calls that it does not even answer. */
  get completed(): Outcome {
    if (this.#hasUndeclared) return { kind: 'failed', failure: failure('upstream_error', UNANSWERED) };
    const isEmpty = this.answer.every(({ kind }) => kind === 'reasoning');
    if (this.#droppedReason === null || !isEmpty) return COMPLETED;
    return { kind: 'failed', failure: failure('upstream_error', DROPPED[this.#droppedReason]) };
  }

  /** Ours for an upstream id of which something was told. */
  known(upstreamId: string): string | undefined {
    return this.#ids.known(upstreamId);
  }

  isOpen(itemId: string, kind: OutputItem['kind']): boolean {
    return this.#all.startedItem(itemId)?.kind === kind;
  }

  start(item: OutputItem, upstreamId: string, into: TurnEvent[]): string {
    const id = this.#ids.create(item.id ?? upstreamId, ID_PREFIXES[item.kind]);
    const head: Produced = { ...headOf(item), id };
    this.#emit({ type: 'item-started', item: head }, into);
    if (item.kind === 'hosted-call' && item.modelCallId !== undefined) {
      this.#running.set(item.modelCallId, id);
      this.#emit({ type: 'item-status', itemId: id, status: 'in_progress' }, into);
    }
    return id;
  }

  /** What has no place in its item any more is not told: a client has read what comes behind it. */
  delta(event: ItemDelta, into: TurnEvent[]): void {
    const said = this.#all.contentOf(event.itemId);
    if (said === null) return;
    const earlyCitations = this.#earlyCitations.get(event.itemId) ?? [];
    if (event.annotation !== undefined && said.text === '') {
      earlyCitations.push(event);
      this.#earlyCitations.set(event.itemId, earlyCitations);
      return;
    }
    if (!fitsInOrder(event, said)) {
      this.#options.onAnomaly('text-differs');
      return;
    }
    this.#emit(event, into);
    if (said.text === '') return;
    this.#earlyCitations.delete(event.itemId);
    for (const citation of earlyCitations) this.#emit(citation, into);
  }

  /** What a hosted tool is doing, in the words of its backend. */
  progress(itemId: string, { of, status }: Progress, more: JsonObject, into: TurnEvent[]): void {
    const head = this.#all.startedItem(itemId);
    if (head === null || !('raw' in head)) return;
    this.#emit(
      {
        type: 'item-status',
        itemId,
        status,
        ...(of === head.raw.type ? {} : { of }),
        ...(Object.keys(more).length === 0 ? {} : { more }),
      },
      into,
    );
  }

  /** The item is whole: what of it was not said yet is said, and it ends. */
  finish(itemId: string, whole: OutputItem, into: TurnEvent[]): void {
    const head = this.#all.startedItem(itemId);
    const said = this.#all.contentOf(itemId);
    if (head === null || said === null) return;
    // Instead of a call that nobody has agreed to, which is whole from its start.
    if (head.kind === 'opaque' && whole.kind === 'tool-call') {
      this.#emit({ type: 'item-ended', item: head }, into);
      return;
    }
    for (const [at, text] of textsOf(withInput(whole, said))) this.emitRest(itemId, at, text, into);
    // The app-server runs it, and says how that ended.
    if (head.kind === 'hosted-call' && whole.kind === 'tool-call') return;
    const item = { ...withStreamed(whole, said), ...startFields(head), id: itemId } as Produced;
    this.#emit({ type: 'item-ended', item }, into);
  }

  /** A tool that the app-server ran has come to its end. */
  toolEnded(callId: string, outcome: McpOutcome, into: TurnEvent[]): void {
    const itemId = this.#running.get(callId);
    const head = itemId === undefined ? null : this.#all.startedItem(itemId);
    this.#running.delete(callId);
    if (itemId === undefined || head?.kind !== 'hosted-call') return;
    for (const event of endOfCall(head, itemId, this.#all.textOf(itemId, 'input'), outcome)) {
      this.#emit(event, into);
    }
  }

  /** The items that are open are whole, and nobody says them again; tools that run go on. */
  finishOpen(into: TurnEvent[]): void {
    this.#endOpen('completed', into);
  }

  #endOpen(status: ItemStatus, into: TurnEvent[]): void {
    const running = new Set(this.#running.values());
    for (const event of this.#all.endOpen(status, (itemId) => running.has(itemId))) into.push(event);
  }

  end(outcome: Outcome, usage: Usage | null, into: TurnEvent[]): void {
    this.#ended = true;
    for (const callId of this.#running.keys()) this.toolEnded(callId, NOT_RUN, into);
    for (const event of this.#all.endOpen(statusAfter(outcome))) into.push(event);
    into.push({ type: 'turn-ended', outcome, usage, at: this.#options.ambient.clock.now() });
  }

  /** What of a whole text has not been streamed; nothing where the stream said something else. */
  emitRest(itemId: string, at: ItemDelta['at'], whole: string, into: TurnEvent[]): void {
    const streamed = this.#all.textOf(itemId, at);
    if (!whole.startsWith(streamed)) this.#options.onAnomaly('text-differs');
    else if (whole.length > streamed.length) {
      this.delta({ type: 'item-delta', itemId, at, delta: whole.slice(streamed.length) }, into);
    }
  }

  /** A tool that may run in either place has run at the backend if its output is there, too. */
  #hosted(item: HostedCall | Opaque): OutputItem | null {
    const { type, id, call_id: callId } = item.raw;
    if (type.endsWith('_output')) this.#asked.delete(callId);
    const meaning = this.#options.callable.meaningOf(item);
    if (meaning === 'undeclared') return this.#undeclared();
    if (meaning === 'call') this.#asked.add(callId ?? id);
    return item;
  }

  #undeclared(): null {
    this.#options.onAnomaly('undeclared-call');
    this.#undeclaredCalls += 1;
    this.#hasUndeclared = true;
    return null;
  }

  #emit(event: TurnEvent, into: TurnEvent[]): void {
    this.#all.add(event);
    into.push(event);
  }
}

/** Parts of a list come one after the other, and a refusal comes behind the text. */
const fitsInOrder = ({ at, delta }: ItemDelta, said: ItemContent): boolean => {
  if (typeof at !== 'string') {
    return at.index >= Math.max(said[at.list].length - 1, 0) && at.index < MAX_PARTS;
  }
  return at !== 'text' || delta === '' || said.refusal === null;
};
