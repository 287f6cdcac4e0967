import type { Message, Slot } from '../../canonical/request/item.ts';
import type { ModelBudget } from '../../canonical/context/model-budget.ts';
import type { TurnEvent, Outcome } from '../../canonical/events/turn-event.ts';
import { addUsage, type Usage } from '../../canonical/events/usage.ts';
import { assertNever } from '../../kit/assert-never.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import type { ResponseItem } from '../protocol/generated/ResponseItem.ts';
import type { KnownNotification } from '../protocol/methods.ts';
import { isUsageUnread, toFailure, unfinishedAnswer } from '../translate/failures.ts';
import { toOutcome } from '../translate/outcomes.ts';
import { toUsage } from '../translate/to-usage.ts';
import { phaseOf, readItem, type OutputItem } from './read-item.ts';
import { ItemsSource } from './items-source.ts';
import type { SourceOptions, SourceSignal } from './source.ts';

export interface RpcSourceOptions extends SourceOptions {
  /** Limits the model requests that the app-server sends by itself. */
  readonly budget: ModelBudget;
}

/** Reads the content of a turn from the app-server's notifications. Used without a relay. */
export class RpcSource extends ItemsSource<RpcSourceOptions> {
  /** Usage of the whole thread, so of this turn; the only source if a response is incomplete. */
  #threadUsage: Usage | null = null;

  take(signal: SourceSignal): TurnEvent[] {
    const events: TurnEvent[] = [];
    if (signal.kind === 'notified' && !this.ended) this.#notified(signal.notification, events);
    return events;
  }

  protected endTurn(outcome: Outcome, events: TurnEvent[]): void {
    const isShort = outcome.kind === 'incomplete';
    this.items.end(outcome, isShort ? (this.#threadUsage ?? this.usage) : this.usage, events);
  }

  #notified(notification: KnownNotification, events: TurnEvent[]): void {
    const { method, params } = notification;
    // Echoes of injected items carry another turn's id.
    if ('turnId' in params && params.turnId !== this.options.turnId) return;
    switch (method) {
      case 'item/started':
        this.#itemStarted(params.item, events);
        return;
      case 'item/agentMessage/delta':
        this.#delta(params, MESSAGE, 'text', events);
        return;
      case 'item/reasoning/summaryPartAdded':
        this.#delta(
          { ...params, delta: '' },
          REASONING,
          { list: 'summary', index: params.summaryIndex },
          events,
        );
        return;
      case 'item/reasoning/summaryTextDelta':
        this.#delta(params, REASONING, { list: 'summary', index: params.summaryIndex }, events);
        return;
      case 'item/reasoning/textDelta':
        this.#delta(params, REASONING, { list: 'reasoning', index: params.contentIndex }, events);
        return;
      case 'rawResponseItem/completed':
        this.#itemCompleted(params.item, events);
        return;
      case 'rawResponse/completed':
        this.usage = addUsage(this.usage, params.usage === null ? null : toUsage(params.usage));
        // An empty answer counts too.
        this.#inAnswer();
        this.isAnswered = true;
        this.endIfLast(events);
        this.#endIfExceeded(events);
        return;
      case 'item/commandExecution/outputDelta':
        // Only agents run commands.
        return;
      case 'item/completed':
        this.toolCompleted(params, events);
        return;
      case 'thread/tokenUsage/updated':
        this.#threadUsage = toUsage(params.tokenUsage.total);
        return;
      case 'error':
        // The turn's end carries the same error. But codex retries a lost network without limit, and we
        // promise clients that nothing is sent twice, so end here.
        if (params.willRetry) this.endTurn({ kind: 'failed', failure: toFailure(params.error) }, events);
        return;
      case 'turn/completed':
        this.#turnCompleted(params.turn, events);
        return;
      default:
        assertNever(method);
    }
  }

  #turnCompleted(turn: EndedTurn, events: TurnEvent[]): void {
    const outcome = this.#outcomeOf(turn);
    this.endTurn(outcome.kind === 'completed' ? this.items.completed : outcome, events);
  }

  #outcomeOf(turn: EndedTurn): Outcome {
    const { error } = turn;
    if (error !== null && isUsageUnread(error)) {
      // The answer itself is complete.
      this.options.onAnomaly('usage-unread');
      return this.items.lastOutcome ?? { kind: 'completed' };
    }
    if (error !== null && unfinishedAnswer(error.message) !== null)
      this.options.onAnomaly('answer-unfinished');
    return toOutcome(turn);
  }

  /** Part of an answer has arrived. */
  #inAnswer(): void {
    if (this.isAnswered) this.items.beginAnswer();
    this.isAnswered = false;
  }

  /** The app-server calls the model again by itself: this is the only sign of it. */
  #endIfExceeded(events: TurnEvent[]): void {
    const { budget } = this.options;
    if (this.ended || !this.items.willAskAgain || budget.take()) return;
    this.endTurn({ kind: 'failed', failure: budget.exceeded() }, events);
  }

  #itemStarted(
    item: { readonly type: string; readonly id: string; readonly phase?: unknown },
    events: TurnEvent[],
  ): void {
    const phase = phaseOf(item.phase);
    if (item.type === 'agentMessage') {
      this.#start(phase === null ? MESSAGE : { ...MESSAGE, phase }, item.id, events);
    }
    if (item.type === 'reasoning') this.#start(REASONING, item.id, events);
  }

  #delta(
    { itemId: upstreamId, delta }: { readonly itemId: string; readonly delta: string },
    head: OutputItem,
    at: Slot,
    events: TurnEvent[],
  ): void {
    const itemId = this.#openId(upstreamId, head) ?? this.#start(head, upstreamId, events);
    this.items.delta({ type: 'item-delta', itemId, at, delta }, events);
  }

  #itemCompleted(raw: ResponseItem, events: TurnEvent[]): void {
    const read = readItem(raw as unknown as JsonObject);
    if (read !== 'not-for-clients') this.#inAnswer();
    const item = this.items.visibleItem(read);
    const upstreamId = 'id' in raw ? (raw.id ?? '') : '';
    if (item !== null) {
      const itemId = this.#openId(upstreamId, item) ?? this.#start(item, upstreamId, events);
      // For a call that the app-server runs, only the model's own part is known so far.
      const isRun = item.kind === 'hosted-call' && item.modelCallId !== undefined && typeof read !== 'string';
      this.items.finish(itemId, isRun ? read : item, events);
    }
    const { fatalOutcome } = this.items;
    if (fatalOutcome !== null) this.endTurn(fatalOutcome, events);
  }

  #start(head: OutputItem, upstreamId: string, events: TurnEvent[]): string {
    this.#inAnswer();
    return this.items.start(head, upstreamId, events);
  }

  #openId(upstreamId: string, { kind }: OutputItem): string | null {
    const known = this.items.known(upstreamId);
    return known !== undefined && this.items.isOpen(known, kind) ? known : null;
  }
}

type EndedTurn = Parameters<typeof toOutcome>[0];

const MESSAGE: Message = { kind: 'message', role: 'assistant', parts: [] };
const REASONING: OutputItem = { kind: 'reasoning', summary: [] };
