import { failure } from '../../canonical/failure.ts';
import type { ItemStatus, Produced } from '../../canonical/item.ts';
import type { Outcome } from '../../canonical/outcome.ts';
import type { TurnEvent } from '../../canonical/turn-event.ts';
import { addUsage, type Usage } from '../../canonical/usage.ts';
import { statusAfter } from '../../canonical/well-formed.ts';
import type { Ambient } from '../../kit/ambient.ts';
import { assertNever } from '../../kit/assert-never.ts';
import type { ResponseItem } from '../protocol/generated/ResponseItem.ts';
import type { KnownNotification } from '../protocol/methods.ts';
import type { WholeItem, WireEvent, WireReport } from './wire-report.ts';
import { toFailure } from './failures.ts';
import { LiveCalls, type Shown } from './live-calls.ts';
import { refine, toOutcome } from './outcomes.ts';
import { toUsage } from './to-usage.ts';
import { ToldItems } from './told-items.ts';
import { withoutMetadata } from './without-metadata.ts';

/** A model that cannot stop would otherwise be asked again for ever. */
const MAX_UNDECLARED_CALLS = 16;

/** Things that are not a client's business but must not go unseen. */
export type Oddity = 'undeclared-call' | 'second-call-dropped' | 'text-differs';

export interface TurnTranslatorOptions {
  readonly turnId: string;
  /** The names of the tools that the model may call. */
  readonly callable: ReadonlySet<string>;
  readonly parallelToolCalls: boolean;
  readonly ambient: Ambient;
  /** What a relay saw of the answer; null without one. */
  readonly report: WireReport | null;
  readonly onOddity: (oddity: Oddity) => void;
}

/** The app-server's notifications of one turn → turn events. Holds the turn's state, does no IO. */
export class TurnTranslator {
  readonly #options: TurnTranslatorOptions;
  readonly #items: ToldItems;
  readonly #liveCalls = new LiveCalls(({ name }) => {
    const isOneTooMany = !this.#options.parallelToolCalls && this.#calls + this.#liveCalls.size > 0;
    return !isOneTooMany && this.#options.callable.has(name);
  });
  readonly #toldRefusals = new Set<string>();
  /** By answer, what stood only in its last event. */
  readonly #unstreamed: (readonly WholeItem[])[] = [];
  #calls = 0;
  #undeclaredCalls = 0;
  #usage: Usage | null = null;
  /** Of the whole thread, so of this turn; all there is without a relay when a response is incomplete. */
  #threadUsage: Usage | null = null;
  #ended = false;
  #isAnswered = false;

  constructor(options: TurnTranslatorOptions) {
    this.#options = options;
    this.#items = new ToldItems(options.ambient.ids, () => options.onOddity('text-differs'));
  }

  get ended(): boolean {
    return this.#ended;
  }

  next(notification: KnownNotification): TurnEvent[] {
    return this.#ended ? [] : this.#translate(notification);
  }

  /** What a relay sees as it happens: a call whose arguments are still being written, the end of an answer. */
  wire(event: WireEvent): TurnEvent[] {
    this.#isAnswered ||= event.kind === 'answer-started';
    if (event.kind === 'answer-ended') {
      // The app-server has not told the rest yet: what it never tells has its place behind that.
      if (event.how === 'completed') this.#unstreamed.push(event.unstreamed);
      return [];
    }
    return this.#ended ? [] : this.#shown(this.#liveCalls.take(event));
  }

  /** Ends the turn: because it has ended, or the worker is gone, or the reader is too slow. */
  end(given: Outcome): TurnEvent[] {
    if (this.#ended) return [];
    const outcome = refine(given, this.#options.report, this.#isAnswered);
    const status = statusAfter(outcome);
    const refusals = this.#newRefusals(status);
    this.#ended = true;
    const usage = outcome.kind === 'incomplete' ? this.#usageSoFar() : this.#usage;
    const at = this.#options.ambient.clock.now();
    return [...refusals, ...this.#items.endOpen(status), { type: 'turn-ended', outcome, usage, at }];
  }

  /** The app-server says no number about an answer that stopped short; a relay saw it. */
  #usageSoFar(): Usage | null {
    const last = this.#options.report?.usage ?? null;
    return last === null ? (this.#threadUsage ?? this.#usage) : addUsage(this.#usage, last);
  }

  #translate(notification: KnownNotification): TurnEvent[] {
    const { method, params } = notification;
    // Echoes of injected items carry another turn's id.
    if ('turnId' in params && params.turnId !== this.#options.turnId) return [];
    switch (method) {
      case 'item/started':
        return this.#itemStarted(params.item);
      case 'item/agentMessage/delta':
        return this.#items.delta(params.itemId, 'message', 'text', params.delta);
      case 'item/reasoning/summaryPartAdded':
        return this.#items.delta(
          params.itemId,
          'reasoning',
          { list: 'summary', index: params.summaryIndex },
          '',
        );
      case 'item/reasoning/summaryTextDelta': {
        const { itemId, summaryIndex: index, delta } = params;
        return this.#items.delta(itemId, 'reasoning', { list: 'summary', index }, delta);
      }
      case 'item/reasoning/textDelta': {
        const { itemId, contentIndex: index, delta } = params;
        return this.#items.delta(itemId, 'reasoning', { list: 'reasoning', index }, delta);
      }
      case 'rawResponseItem/completed':
        return this.#itemCompleted(params.item);
      case 'rawResponse/completed':
        this.#usage = addUsage(this.#usage, params.usage === null ? null : toUsage(params.usage));
        return this.#answerCompleted();
      case 'thread/tokenUsage/updated':
        this.#threadUsage = toUsage(params.tokenUsage.total);
        return [];
      case 'error':
        // The turn's end carries the same error. But codex waits for a network that is gone for as long
        // as it takes, and the client has been promised that nothing is tried twice: that ends here.
        return params.willRetry ? this.end({ kind: 'failed', failure: toFailure(params.error) }) : [];
      case 'turn/completed':
        return this.end(toOutcome(params.turn));
      default:
        return assertNever(method);
    }
  }

  #answerCompleted(): TurnEvent[] {
    const unstreamed = this.#unstreamed.shift() ?? [];
    const events = unstreamed.flatMap((item) => (this.#ended ? [] : this.#itemCompleted(item)));
    if (this.#ended) return events;
    if (this.#calls > 0) return [...events, ...this.end({ kind: 'tool-calls' })];
    return [...events, ...this.#newRefusals('completed'), ...this.#shown(this.#liveCalls.answerDone())];
  }

  #itemStarted(item: { readonly type: string; readonly id: string; readonly phase?: unknown }): TurnEvent[] {
    if (item.type === 'agentMessage') return this.#items.messageStarted(item.id, item.phase);
    if (item.type === 'reasoning') return this.#items.reasoningStarted(item.id);
    return [];
  }

  #itemCompleted(item: ResponseItem): TurnEvent[] {
    switch (item.type) {
      case 'message':
        return item.role === 'assistant' ? this.#done(item.id, this.#items.message(item)) : [];
      case 'reasoning':
        return this.#done(item.id, this.#items.reasoning(item));
      case 'function_call':
        return this.#done(item.id, this.#callCompleted(item));
      case 'web_search_call':
      case 'image_generation_call': {
        const raw = withoutMetadata(item);
        return this.#whole(item.id, (id) => ({ kind: 'hosted-call', id, raw }));
      }
      case 'compaction': {
        const { encrypted_content: encryptedContent } = item;
        return this.#whole(item.id, (id) => ({ kind: 'compaction', id, encryptedContent }));
      }
      case 'custom_tool_call':
      case 'local_shell_call':
      case 'tool_search_call':
        return this.#done(item.id, this.#undeclaredCall());
      case 'function_call_output':
      case 'custom_tool_call_output':
      case 'tool_search_output':
        // What codex itself answered to a call that is not ours.
        return [];
      case 'additional_tools':
      case 'agent_message':
      case 'configuration_update':
      case 'compaction_trigger':
      case 'context_compaction':
      case 'other':
        return [];
      default:
        return assertNever(item);
    }
  }

  #whole(upstreamId: string | undefined, produced: (id: string) => Produced): TurnEvent[] {
    return this.#done(upstreamId, this.#items.whole(upstreamId, produced));
  }

  /** An item of the model is done; calls behind it may now be shown. */
  #done(upstreamId: string | undefined, events: TurnEvent[]): TurnEvent[] {
    if (this.#ended) return events;
    return [...events, ...this.#shown(this.#liveCalls.itemDone(upstreamId ?? ''))];
  }

  #callCompleted(item: Extract<ResponseItem, { type: 'function_call' }>): TurnEvent[] {
    if (!this.#options.callable.has(item.name)) return this.#undeclaredCall();
    const open = this.#liveCalls.isShown(item.id ?? '') ? this.#items.openOne(item.id, 'tool-call') : null;
    if (open === null && this.#calls > 0 && !this.#options.parallelToolCalls) {
      this.#options.onOddity('second-call-dropped');
      return [];
    }
    if (open === null) this.#calls += 1;
    return this.#items.call(item, open);
  }

  /** Live calls that may be shown now. */
  #shown(events: readonly Shown[]): TurnEvent[] {
    return events.flatMap((event): TurnEvent[] => {
      const { itemId } = event;
      if (event.kind === 'call-delta') return this.#items.delta(itemId, 'tool-call', 'input', event.delta);
      this.#calls += 1;
      return this.#items.callStarted(itemId, event.callId, event.name);
    });
  }

  /** Those that have not been told. */
  #newRefusals(status: ItemStatus): TurnEvent[] {
    return [...(this.#options.report?.refusals ?? [])].flatMap(([upstreamId, refusal]) => {
      if (this.#toldRefusals.has(upstreamId)) return [];
      this.#toldRefusals.add(upstreamId);
      return this.#items.refused(upstreamId, refusal, status);
    });
  }

  /** codex answers it itself and asks the model again; the client must never see it. */
  #undeclaredCall(): TurnEvent[] {
    this.#options.onOddity('undeclared-call');
    this.#undeclaredCalls += 1;
    if (this.#undeclaredCalls <= MAX_UNDECLARED_CALLS) return [];
    const message = 'The model keeps calling tools that were not declared.';
    return this.end({ kind: 'failed', failure: failure('upstream_error', { message }) });
  }
}
