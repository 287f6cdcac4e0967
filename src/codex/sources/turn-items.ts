import { failure } from '../../canonical/failure/failure.ts';
import { Accumulator } from '../../canonical/events/accumulate.ts';
import type { HostedCall, ItemStatus, Opaque, Produced } from '../../canonical/request/item.ts';
import type { ItemDelta, TurnEvent, Outcome } from '../../canonical/events/turn-event.ts';
import { statusAfter } from '../../canonical/events/well-formed.ts';
import type { Usage } from '../../canonical/events/usage.ts';
import type { Json, JsonObject } from '../../kit/json/json.ts';
import type { Progress } from './answer-events.ts';
import { approvalRequest, endOfCall, mcpCallHead, NOT_RUN, type McpOutcome } from './mcp-calls.ts';
import {
  startFields,
  fitsInOrder,
  itemHead,
  ID_PREFIXES,
  DROPPED,
  textsOf,
  withInput,
  withStreamed,
  type OutputItem,
  type ReadItem,
  type UnreadableItem,
} from './read-item.ts';
import type { SourceOptions } from './source.ts';
import type { IdSource } from '../../kit/ambient.ts';

/** A model that keeps calling undeclared tools would be called again without end. */
const MAX_UNDECLARED_CALLS = 16;

/** More than any answer has. The app-server's time for output items grows quadratically: 40,000 take a minute. */
export const MAX_ITEMS = 5_000;
const TOO_MANY_ITEMS: Outcome = {
  kind: 'failed',
  failure: failure('too_many_output_items', {
    message: `The answer of the upstream has too many output items: at most ${MAX_ITEMS} are accepted.`,
  }),
};

const COMPLETED: Outcome = { kind: 'completed' };
const UNANSWERED = { message: 'The model called a tool that was not declared, and nothing else followed.' };

/**
 * The items of a turn, as both sources handle them: assigns ids, hides items that are not for the client,
 * emits the rest of an item when it is complete, and ends open items when the turn ends.
 */
export class TurnItems {
  readonly #options: SourceOptions;
  readonly #all = new Accumulator();
  readonly #ids: ItemIds;
  /** Citations that arrived before the text that they annotate, by item. */
  readonly #earlyCitations = new Map<string, ItemDelta[]>();
  /** Number of items before the model's last answer. */
  #before = 0;
  /** Items of calls that the app-server runs, by call id. */
  readonly #running = new Map<string, string>();
  #calls = 0;
  /** The ids of all visible calls. */
  readonly #callIds = new Set<string>();
  /** Requests of hosted tools to the client, by the id that its answer will name. */
  readonly #asked = new Set<Json | undefined>();
  #undeclaredCalls = 0;
  /** Number of items, including hidden ones. */
  #seenItems = 0;
  #isOverCalls = false;
  /** Whether the last answer has a call that the app-server runs. It may have ended before the answer has. */
  #hasRun = false;
  /** Whether the last answer ends with an undeclared call. */
  #hasUndeclared = false;
  /** Why an item of the last answer was dropped. */
  #droppedReason: UnreadableItem | null = null;
  ended = false;

  constructor(options: SourceOptions) {
    this.#options = options;
    this.#ids = new ItemIds(options.ambient.ids);
  }

  /** How the turn ends with this answer, if the client has something to answer. Null: it may continue. */
  get lastOutcome(): Outcome | null {
    if (this.#calls > 0) return { kind: 'tool-calls' };
    return this.#asked.size > 0 ? { kind: 'completed' } : null;
  }

  /** The visible items of the model's last answer. */
  get answer(): readonly Produced[] {
    return this.#all.endedFrom(this.#before);
  }

  /** The model is called, for the first time or again. */
  beginAnswer(): void {
    this.#before = this.#all.size;
    this.#hasRun = false;
    this.#hasUndeclared = false;
    this.#droppedReason = null;
  }

  /** The model was interrupted and is called again: its started items stay incomplete. */
  abandonAnswer(into: TurnEvent[]): void {
    this.#endOpen('incomplete', into);
    this.#calls = 0;
    this.#asked.clear();
  }

  /** Whether the app-server runs tools. */
  get isRunning(): boolean {
    return this.#running.size > 0;
  }

  /** The item if the client may see it. Called once per item. */
  visibleItem(item: ReadItem): OutputItem | null {
    this.#seenItems += 1;
    const told = this.#classified(item);
    // The model continued by itself: its undeclared call was not the last item.
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
    // codex itself answers calls of unknown tools and calls the model again.
    if (call === null) return this.#undeclared();
    if (this.#calls > 0 && !this.#options.parallelToolCalls) {
      this.#options.onAnomaly('second-call-dropped');
      return null;
    }
    this.#calls += 1;
    return { ...call, callId: this.#freshCallId(call.callId) };
  }

  /** The client answers calls by id, so each call has a unique one. */
  #freshCallId(given: string): string {
    const isTaken = this.#callIds.has(given);
    if (isTaken) this.#options.onAnomaly('call-id-twice');
    const callId = given === '' || isTaken ? this.#options.ambient.ids.mint('call') : given;
    this.#callIds.add(callId);
    return callId;
  }

  #dropped(why: UnreadableItem): null {
    this.#droppedReason = why;
    this.#options.onAnomaly(why === 'no_type' ? 'item-without-type' : 'item-without-name');
    return null;
  }

  /** Whether the model will be called again because of calls that are not the client's. */
  get willAskAgain(): boolean {
    return this.lastOutcome === null && (this.isRunning || this.#hasRun || this.#hasUndeclared);
  }

  /** How the turn ends after too many items or undeclared calls, or a call of a withdrawn tool. */
  get fatalOutcome(): Outcome | null {
    if (this.#isOverCalls) return { kind: 'incomplete', reason: 'max_tool_calls' };
    if (Math.max(this.#seenItems, this.#all.size) > MAX_ITEMS) return TOO_MANY_ITEMS;
    if (this.#undeclaredCalls <= MAX_UNDECLARED_CALLS) return null;
    const message = 'The model keeps calling tools that were not declared.';
    return { kind: 'failed', failure: failure('upstream_error', { message }) };
  }

  /** How a turn ended that codex reports as completed: some calls it does not even answer. */
  get completed(): Outcome {
    if (this.#hasUndeclared) return { kind: 'failed', failure: failure('upstream_error', UNANSWERED) };
    const isEmpty = this.answer.every(({ kind }) => kind === 'reasoning');
    if (this.#droppedReason === null || !isEmpty) return COMPLETED;
    return { kind: 'failed', failure: failure('upstream_error', DROPPED[this.#droppedReason]) };
  }

  /** Our id for the upstream id of a visible item. */
  known(upstreamId: string): string | undefined {
    return this.#ids.known(upstreamId);
  }

  isOpen(itemId: string, kind: OutputItem['kind']): boolean {
    return this.#all.startedItem(itemId)?.kind === kind;
  }

  start(item: OutputItem, upstreamId: string, into: TurnEvent[]): string {
    const id = this.#ids.create(item.id ?? upstreamId, ID_PREFIXES[item.kind]);
    const head: Produced = { ...itemHead(item), id };
    this.#emit({ type: 'item-started', item: head }, into);
    if (item.kind === 'hosted-call' && item.modelCallId !== undefined) {
      this.#running.set(item.modelCallId, id);
      this.#hasRun = true;
      this.#emit({ type: 'item-status', itemId: id, status: 'in_progress' }, into);
    }
    return id;
  }

  /** Drops a delta that is out of order: the client has already read later content. */
  delta(event: ItemDelta, into: TurnEvent[]): void {
    const said = this.#all.contentOf(event.itemId);
    if (said === null) return;
    if (event.annotation !== undefined && said.text === '') {
      const earlier = this.#earlyCitations.get(event.itemId);
      if (earlier === undefined) this.#earlyCitations.set(event.itemId, [event]);
      else earlier.push(event);
      return;
    }
    if (!fitsInOrder(event, said)) {
      this.#options.onAnomaly('text-differs');
      return;
    }
    this.#emit(event, into);
    if (this.#earlyCitations.size === 0 || said.text === '') return;
    const citations = this.#earlyCitations.get(event.itemId) ?? [];
    this.#earlyCitations.delete(event.itemId);
    for (const citation of citations) this.#emit(citation, into);
  }

  /** Emits the progress of a hosted tool, in its backend's words. */
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

  /** Completes an item: emits what was not streamed, then its end. */
  finish(itemId: string, whole: OutputItem, into: TurnEvent[]): void {
    const head = this.#all.startedItem(itemId);
    const said = this.#all.contentOf(itemId);
    if (head === null || said === null) return;
    // An approval request replaces the call and is complete from its start.
    if (head.kind === 'opaque' && whole.kind === 'tool-call') {
      this.#emit({ type: 'item-ended', item: head }, into);
      return;
    }
    for (const [at, text] of textsOf(withInput(whole, said))) this.emitRest(itemId, at, text, into);
    // The app-server runs it and reports the result.
    if (head.kind === 'hosted-call' && whole.kind === 'tool-call') return;
    const item = { ...withStreamed(whole, said), ...startFields(head), id: itemId } as Produced;
    this.#emit({ type: 'item-ended', item }, into);
  }

  /** A tool that the app-server ran has ended. */
  toolEnded(callId: string, outcome: McpOutcome, into: TurnEvent[]): void {
    const itemId = this.#running.get(callId);
    const head = itemId === undefined ? null : this.#all.startedItem(itemId);
    this.#running.delete(callId);
    if (itemId === undefined || head?.kind !== 'hosted-call') return;
    for (const event of endOfCall(head, itemId, this.#all.textOf(itemId, 'input'), outcome)) {
      this.#emit(event, into);
    }
  }

  /** Completes open items that will not be sent again; running tools continue. */
  finishOpen(into: TurnEvent[]): void {
    this.#endOpen('completed', into);
  }

  #endOpen(status: ItemStatus, into: TurnEvent[]): void {
    const running = new Set(this.#running.values());
    for (const event of this.#all.endOpen(status, { isKept: (itemId) => running.has(itemId) }))
      into.push(event);
  }

  end(outcome: Outcome, usage: Usage | null, into: TurnEvent[]): void {
    this.ended = true;
    for (const callId of this.#running.keys()) this.toolEnded(callId, NOT_RUN, into);
    for (const event of this.#all.endOpen(statusAfter(outcome))) into.push(event);
    into.push({ type: 'turn-ended', outcome, usage, at: this.#options.ambient.clock.now() });
  }

  /** Emits the part of a whole text that was not streamed; nothing if the stream differs. */
  emitRest(itemId: string, at: ItemDelta['at'], whole: string, into: TurnEvent[]): void {
    const streamed = this.#all.textOf(itemId, at);
    if (!whole.startsWith(streamed)) this.#options.onAnomaly('text-differs');
    else if (whole.length > streamed.length) {
      this.delta({ type: 'item-delta', itemId, at, delta: whole.slice(streamed.length) }, into);
    }
  }

  /** A tool that may run on either side ran at the backend if its output is there too. */
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

/** The ids of a turn's items: the upstream's own, unless one is missing or used twice. */
export class ItemIds {
  readonly #source: IdSource;
  readonly #ours = new Map<string, string>();
  readonly #used = new Set<string>();

  constructor(source: IdSource) {
    this.#source = source;
  }

  /** Our id for an upstream id seen before. */
  known(upstreamId: string): string | undefined {
    return this.#ours.get(upstreamId);
  }

  /** `upstreamId` may be empty. */
  create(upstreamId: string, prefix: string): string {
    const isUsable = upstreamId !== '' && !this.#used.has(upstreamId);
    const itemId = isUsable ? upstreamId : this.#source.mint(prefix);
    this.#used.add(itemId);
    this.#ours.set(upstreamId, itemId);
    return itemId;
  }
}
