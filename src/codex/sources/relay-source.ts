import { failure, type Failure } from '../../canonical/failure/failure.ts';
import type { TurnEvent, Outcome } from '../../canonical/events/turn-event.ts';
import { addUsage } from '../../canonical/events/usage.ts';
import { assertNever } from '../../kit/assert-never.ts';
import { isJsonObject, listIn, textIn, type Json, type JsonObject } from '../../kit/json/json.ts';
import type { KnownNotification } from '../protocol/methods.ts';
import { toFailure } from '../translate/failures.ts';
import { preferBackendFailure, toOutcome } from '../translate/outcomes.ts';
import { deltaRule, progressOf, wholeRule } from './answer-events.ts';
import { AnswerItems, hasHead, nameOf, type AnswerItem } from './answer-items.ts';
import { readItem, type OutputItem, type ReadItem } from './read-item.ts';
import { ItemsSource } from './items-source.ts';
import type { SourceOptions, SourceSignal, AnswerEnded, RelayReport } from './source.ts';
import { readUsage } from './response-usage.ts';

export interface RelaySourceOptions extends SourceOptions {
  readonly report: Pick<RelayReport, 'signIn'>;
  /** Whether nothing can follow a complete answer without calls, so that the app-server need not confirm it. */
  readonly endsWithAnswer?: boolean;
}

/**
 * Reads the content of a turn from the backend's own events, as seen by the relay. The app-server only
 * reports the turn's end: it may answer a call itself and call the model again.
 */
export class RelaySource extends ItemsSource<RelaySourceOptions> {
  #answerItems = new AnswerItems();
  /** Why the last request or answer failed, in the backend's words. */
  #refused: Failure | null = null;
  /** The relay has started to pass an answer on. */
  #hasBegun = false;

  take(signal: SourceSignal): TurnEvent[] {
    const events: TurnEvent[] = [];
    if (this.items.ended) return events;
    switch (signal.kind) {
      case 'answer-said':
        if (!this.isAnswered) this.#said(signal.type, signal.data, events);
        break;
      case 'notified':
        this.#notified(signal.notification, events);
        break;
      case 'answer-started':
        if (this.#hasBegun && !this.isAnswered) this.items.abandonAnswer(events);
        this.#hasBegun = true;
        this.#answerItems = new AnswerItems();
        this.items.beginAnswer();
        this.#refused = null;
        this.isAnswered = false;
        break;
      case 'refused':
        this.#refused = signal.failure;
        this.#endIfExceeded(events);
        break;
      case 'answer-ended':
        this.#answerEnded(signal, events);
        break;
      default:
        assertNever(signal);
    }
    return events;
  }

  protected endTurn(outcome: Outcome, events: TurnEvent[]): void {
    const told = preferBackendFailure(outcome, {
      failure: this.#refused,
      signIn: this.options.report.signIn,
      isAnswered: this.#hasBegun,
    });
    this.items.end(told, this.usage, events);
  }

  #notified({ method, params }: KnownNotification, events: TurnEvent[]): void {
    if (method === 'turn/completed') this.#turnCompleted(toOutcome(params.turn), events);
    else if (method === 'item/completed') {
      this.toolCompleted(params, events);
      this.#endIfExceeded(events);
    }
    // codex would retry a lost network without limit; clients are promised that nothing is sent twice.
    else if (method === 'error' && params.turnId === this.options.turnId && params.willRetry) {
      this.endTurn({ kind: 'failed', failure: toFailure(params.error) }, events);
    }
  }

  /** The budget rejected a model request. Waits for running tools, whose output the request would carry. */
  #endIfExceeded(events: TurnEvent[]): void {
    const { ended, isRunning } = this.items;
    if (this.#refused?.kind !== 'model_request_limit_exceeded' || ended || isRunning) return;
    this.items.end({ kind: 'failed', failure: this.#refused }, this.usage, events);
  }

  #turnCompleted(outcome: Outcome, events: TurnEvent[]): void {
    const { lastOutcome } = this.items;
    // The next request was refused, which does not fail the turn.
    if (this.isAnswered && lastOutcome !== null) {
      this.items.end(lastOutcome, this.usage, events);
      return;
    }
    if (outcome.kind !== 'completed' || this.isAnswered) {
      this.endTurn(outcome.kind === 'completed' ? this.items.completed : outcome, events);
      return;
    }
    this.options.onAnomaly('answer-unseen');
    this.endTurn({ kind: 'failed', failure: this.#refused ?? failure('upstream_error') }, events);
  }

  #answerEnded(ended: AnswerEnded, events: TurnEvent[]): void {
    switch (ended.how) {
      case 'completed':
        this.#completed(ended.response, events);
        return;
      case 'incomplete': {
        this.#missing(ended.response, events);
        if (this.items.ended) return;
        this.usage = addUsage(this.usage, readUsage(ended.response));
        const details = ended.response['incomplete_details'];
        const reason = isJsonObject(details) ? details['reason'] : null;
        const isKnown = reason === 'max_output_tokens' || reason === 'content_filter';
        this.items.end(isKnown ? { kind: 'incomplete', reason } : BROKEN, this.usage, events);
        return;
      }
      case 'left':
        // The app-server will report the reason, unless the backend has reported one before.
        if (this.#refused !== null) this.#broken(events);
        return;
      case 'cut':
        this.#broken(events);
        return;
      default:
        assertNever(ended);
    }
  }

  #broken(events: TurnEvent[]): void {
    const outcome: Outcome = this.#refused === null ? BROKEN : { kind: 'failed', failure: this.#refused };
    this.items.end(outcome, this.usage, events);
  }

  #completed(response: JsonObject | null, events: TurnEvent[]): void {
    // It may contain unseen items.
    if (response === null && !this.#answerItems.areStreamed) {
      this.#broken(events);
      return;
    }
    this.#missing(response, events);
    if (this.items.ended) return;
    this.items.finishOpen(events);
    this.usage = addUsage(this.usage, readUsage(response));
    this.isAnswered = true;
    this.endIfLast(events);
    if (!this.items.ended && this.#isFinal(response))
      this.items.end(this.items.completed, this.usage, events);
  }

  /** codex calls the model again for calls that it answers itself, and after `end_turn: false`. */
  #isFinal(response: JsonObject | null): boolean {
    return (
      this.options.endsWithAnswer === true && !this.items.willAskAgain && response?.['end_turn'] !== false
    );
  }

  /** Items that only the last event of an answer contains. */
  #missing(response: JsonObject | null, events: TurnEvent[]): void {
    for (const [raw, index] of this.#answerItems.missingIn(response?.['output'])) {
      this.#itemDone(raw, index, events);
      if (this.items.ended) return;
    }
  }

  #said(type: string, data: JsonObject, events: TurnEvent[]): void {
    const rule = deltaRule(type);
    if (rule !== null) {
      const itemId = this.#openFor(data, rule.kind, events);
      if (itemId === null) return;
      const at = rule.slot(data);
      const delta = textIn(data, 'delta');
      const logprobs = at === 'text' && delta !== '' ? listIn(data, 'logprobs') : [];
      const more = logprobs.length === 0 ? {} : { logprobs };
      this.items.delta({ type: 'item-delta', itemId, at, delta, ...more }, events);
      return;
    }
    const whole = wholeRule(type);
    if (whole !== null) {
      const itemId = this.#openFor(data, whole.kind, events);
      if (itemId !== null) this.items.emitRest(itemId, whole.slot(data), textIn(data, whole.field), events);
      return;
    }
    switch (type) {
      case 'response.output_item.added':
        this.#itemAdded(data, events);
        return;
      case 'response.output_item.done':
        if (isJsonObject(data['item'])) this.#itemDone(data['item'], data['output_index'], events);
        return;
      case 'response.output_text.annotation.added': {
        const itemId = this.#openFor(data, 'message', events);
        const { annotation } = data;
        if (itemId === null || annotation === undefined) return;
        this.items.delta({ type: 'item-delta', itemId, at: 'text', delta: '', annotation }, events);
        return;
      }
      default:
        this.#progress(type, data, events);
    }
  }

  /** Other events of an open hosted item, passed on unread. */
  #progress(type: string, data: JsonObject, events: TurnEvent[]): void {
    const progress = progressOf(type);
    const itemId = this.#answerItems.find(textIn(data, 'item_id'), data['output_index'])?.itemId ?? null;
    if (progress === null || itemId === null) return;
    const { type: _, sequence_number: _number, item_id: _id, output_index: _index, ...more } = data;
    this.items.progress(itemId, progress, more, events);
  }

  #itemAdded(data: JsonObject, events: TurnEvent[]): void {
    const { item: raw, output_index: index } = data;
    if (!isJsonObject(raw)) return;
    const known = this.#answerItems.find(nameOf(raw), index);
    if (known !== null && !known.isDone && known === this.#answerItems.find('', index)) return;
    if (!hasHead(raw) || this.#waitsForApproval(raw)) return;
    this.#begin(raw, index, events);
    // Before the app-server receives the call and runs it.
    this.#endIfFatal(events);
  }

  /** Emitted when complete: approval is for the whole call. */
  #waitsForApproval(raw: JsonObject): boolean {
    const item = readItem(raw);
    if (typeof item === 'string' || item.kind !== 'tool-call') return false;
    return this.options.findMcpTool(item)?.needsApproval === true;
  }

  #itemDone(raw: JsonObject, index: Json | undefined, events: TurnEvent[]): void {
    const item = readItem(raw);
    const name = nameOf(raw);
    const open = name === '' && typeof index !== 'number' ? this.#answerItems.lastOpen(kindOf(item)) : null;
    const known = open ?? this.#answerItems.find(name, index);
    const isSame = known !== null && !known.isDone && known.kind === kindOf(item);
    const answerItem = isSame ? known : this.#begin(raw, index, events);
    this.#answerItems.done(answerItem, raw, index);
    if (answerItem.itemId !== null && typeof item !== 'string')
      this.items.finish(answerItem.itemId, item, events);
    this.#endIfFatal(events);
  }

  #endIfFatal(events: TurnEvent[]): void {
    const { fatalOutcome } = this.items;
    if (fatalOutcome !== null && !this.items.ended) this.items.end(fatalOutcome, this.usage, events);
  }

  #begin(raw: JsonObject, index: Json | undefined, events: TurnEvent[]): AnswerItem {
    const item = readItem(raw);
    const told = this.items.visibleItem(item);
    const itemId = told === null ? null : this.items.start(told, textIn(raw, 'id'), events);
    const answerItem = { name: nameOf(raw), kind: kindOf(item), itemId, isDone: false };
    this.#answerItems.add(answerItem, index);
    return answerItem;
  }

  /** The open item of an event. Starts an item that was never announced, if its events identify it. */
  #openFor(data: JsonObject, kind: OutputItem['kind'], events: TurnEvent[]): string | null {
    const upstreamId = textIn(data, 'item_id');
    const index = data['output_index'];
    // Calls run in parallel: the one started last may be another.
    const open = this.#answerItems.lastOpen(kind, kind === 'tool-call' ? index : undefined);
    const known = this.#answerItems.find(upstreamId, index) ?? open;
    if (known !== null) return known.kind === kind && !known.isDone ? known.itemId : null;
    if (kind !== 'message' && kind !== 'reasoning') return null;
    const { itemId } = this.#begin({ type: kind, id: upstreamId }, index, events);
    this.#endIfFatal(events);
    return itemId;
  }
}

/** The backend broke off without giving a reason. */
const BROKEN: Outcome = { kind: 'failed', failure: failure('upstream_error') };

const kindOf = (item: ReadItem): AnswerItem['kind'] => (typeof item === 'string' ? null : item.kind);
