import { failure } from '../../canonical/failure.ts';
import type { Phase } from '../../canonical/item.ts';
import { OpenItems } from '../../canonical/open-items.ts';
import type { Outcome } from '../../canonical/outcome.ts';
import type { TurnEvent } from '../../canonical/turn-event.ts';
import { addUsage, type Usage } from '../../canonical/usage.ts';
import type { IdSource } from '../../kit/ambient.ts';
import { assertNever } from '../../kit/assert-never.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { ResponseItem } from '../protocol/generated/ResponseItem.ts';
import type { KnownNotification } from '../protocol/methods.ts';
import type { WholeItem, WireEvent, WireReport } from './wire-report.ts';
import { toFailure } from './failures.ts';
import { ItemIds } from './item-ids.ts';
import { LiveCalls, type Shown } from './live-calls.ts';
import { refine, toOutcome } from './outcomes.ts';
import { toUsage } from './to-usage.ts';
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
  readonly ids: IdSource;
  /** What a relay saw of the answer; null without one. */
  readonly report: WireReport | null;
  readonly onOddity: (oddity: Oddity) => void;
}

/** The app-server's notifications of one turn → turn events. Holds the turn's state, does no IO. */
export class TurnTranslator {
  readonly #options: TurnTranslatorOptions;
  readonly #open = new OpenItems();
  readonly #ids: ItemIds;
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
    this.#ids = new ItemIds(options.ids);
  }

  get ended(): boolean {
    return this.#ended;
  }

  next(notification: KnownNotification): TurnEvent[] {
    return this.#ended ? [] : this.#followed(this.#translate(notification));
  }

  /** What a relay sees as it happens: a call whose arguments are still being written, the end of an answer. */
  wire(event: WireEvent): TurnEvent[] {
    this.#isAnswered ||= event.kind === 'answer-started';
    if (event.kind === 'answer-ended') {
      // The app-server has not told the rest yet: what it never tells has its place behind that.
      if (event.how === 'completed') this.#unstreamed.push(event.unstreamed);
      return [];
    }
    return this.#ended ? [] : this.#followed(this.#shown(this.#liveCalls.take(event)));
  }

  /** Ends the turn: because it has ended, or the worker is gone, or the reader is too slow. */
  end(given: Outcome): TurnEvent[] {
    if (this.#ended) return [];
    const outcome = refine(given, this.#options.report, this.#isAnswered);
    const complete = outcome.kind === 'completed' || outcome.kind === 'tool-calls';
    const refusals = this.#followed(this.#newRefusals(complete));
    this.#ended = true;
    const usage = outcome.kind === 'incomplete' ? this.#usageSoFar() : this.#usage;
    return [...refusals, ...this.#open.endAll(complete), { type: 'turn-ended', outcome, usage }];
  }

  /** The app-server says no number about an answer that stopped short; a relay saw it. */
  #usageSoFar(): Usage | null {
    const last = this.#options.report?.usage ?? null;
    return last === null ? (this.#threadUsage ?? this.#usage) : addUsage(this.#usage, last);
  }

  #followed(events: TurnEvent[]): TurnEvent[] {
    for (const event of events) this.#open.follow(event);
    return events;
  }

  #translate(notification: KnownNotification): TurnEvent[] {
    const { method, params } = notification;
    // Echoes of injected items carry another turn's id.
    if ('turnId' in params && params.turnId !== this.#options.turnId) return [];
    switch (method) {
      case 'item/started':
        return this.#itemStarted(params.item);
      case 'item/agentMessage/delta':
        return [{ type: 'text-delta', itemId: this.#ids.of(params.itemId, 'msg'), delta: params.delta }];
      case 'item/reasoning/summaryPartAdded': {
        const itemId = this.#ids.of(params.itemId, 'rs');
        return [{ type: 'reasoning-summary-started', itemId, index: params.summaryIndex }];
      }
      case 'item/reasoning/summaryTextDelta': {
        const itemId = this.#ids.of(params.itemId, 'rs');
        const { summaryIndex: index, delta } = params;
        return [{ type: 'reasoning-summary-delta', itemId, index, delta }];
      }
      case 'item/reasoning/textDelta': {
        const itemId = this.#ids.of(params.itemId, 'rs');
        const { contentIndex: index, delta } = params;
        return [{ type: 'reasoning-text-delta', itemId, index, delta }];
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
    const events = this.#followed(unstreamed.flatMap((item) => this.#itemCompleted(item)));
    if (this.#ended) return events;
    if (this.#calls > 0) return [...events, ...this.end({ kind: 'tool-calls' })];
    return [...events, ...this.#newRefusals(true), ...this.#shown(this.#liveCalls.answerDone())];
  }

  #itemStarted(item: { readonly type: string; readonly id: string; readonly phase?: unknown }): TurnEvent[] {
    if (item.type === 'agentMessage') {
      const itemId = this.#ids.create(item.id, 'msg');
      return [{ type: 'message-started', itemId, phase: phaseOf(item.phase) }];
    }
    if (item.type === 'reasoning') {
      return [{ type: 'reasoning-started', itemId: this.#ids.create(item.id, 'rs') }];
    }
    return [];
  }

  #itemCompleted(item: ResponseItem): TurnEvent[] {
    switch (item.type) {
      case 'message':
        return item.role === 'assistant' ? this.#done(item.id, this.#messageCompleted(item)) : [];
      case 'reasoning':
        return this.#done(item.id, this.#reasoningCompleted(item));
      case 'function_call':
        return this.#done(item.id, this.#callCompleted(item));
      case 'web_search_call':
      case 'image_generation_call':
      case 'compaction': {
        const itemId = this.#ids.create(item.id, 'item');
        return this.#done(item.id, [{ type: 'carried-item', itemId, wire: withoutMetadata(item) }]);
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

  /** An item of the model is done; calls behind it may now be shown. */
  #done(upstreamId: string | undefined, events: TurnEvent[]): TurnEvent[] {
    if (this.#ended) return events;
    return [...events, ...this.#shown(this.#liveCalls.itemDone(upstreamId ?? ''))];
  }

  /** The item's id, and whether it is being told right now. */
  #opened(upstreamId: string | undefined, prefix: string): { itemId: string; isOpen: boolean } {
    const known = this.#ids.known(upstreamId);
    if (known !== undefined && this.#open.has(known)) return { itemId: known, isOpen: true };
    return { itemId: this.#ids.create(upstreamId, prefix), isOpen: false };
  }

  /** What of the whole text has not been streamed; nothing where the stream said something else. */
  #rest(whole: string, streamed: string): string {
    if (whole.startsWith(streamed)) return whole.slice(streamed.length);
    this.#options.onOddity('text-differs');
    return '';
  }

  #messageCompleted(item: Extract<ResponseItem, { type: 'message' }>): TurnEvent[] {
    const { itemId, isOpen } = this.#opened(item.id, 'msg');
    const phase = phaseOf(item.phase);
    const parts = item.content.filter((part) => part.type === 'output_text');
    const streamed = this.#open.textOf(itemId);
    const delta = this.#rest(parts.map((part) => part.text).join(''), streamed);
    return [
      ...(isOpen ? [] : [{ type: 'message-started', itemId, phase } as const]),
      ...(delta === '' ? [] : [{ type: 'text-delta', itemId, delta } as const]),
      {
        type: 'message-ended',
        itemId,
        text: streamed + delta,
        refusal: null,
        phase,
        annotations: parts.flatMap((part) => (part.annotations ?? []) as JsonObject[]),
        logprobs: parts.flatMap((part) => (part.logprobs ?? []) as JsonObject[]),
        complete: item.status !== 'incomplete',
      },
    ];
  }

  #reasoningCompleted(item: Extract<ResponseItem, { type: 'reasoning' }>): TurnEvent[] {
    const { itemId, isOpen } = this.#opened(item.id, 'rs');
    const events: TurnEvent[] = isOpen ? [] : [{ type: 'reasoning-started', itemId }];
    const complete = (list: 'summary' | 'content', parts: readonly { readonly text: string }[]): string[] =>
      parts.map(({ text }, index) => {
        const streamed = this.#open.reasoningOf(itemId, list)[index] ?? '';
        const delta = this.#rest(text, streamed);
        const type = list === 'summary' ? 'reasoning-summary-delta' : 'reasoning-text-delta';
        if (delta !== '') events.push({ type, itemId, index, delta });
        return streamed + delta;
      });
    const summary = complete('summary', item.summary);
    const content = complete('content', item.content ?? []);
    const encryptedContent = item.encrypted_content;
    events.push({ type: 'reasoning-ended', itemId, summary, content, encryptedContent, complete: true });
    return events;
  }

  #callCompleted(item: Extract<ResponseItem, { type: 'function_call' }>): TurnEvent[] {
    const { name, call_id: callId } = item;
    const isLive = this.#liveCalls.isShown(item.id ?? '');
    if (!this.#options.callable.has(name)) return this.#undeclaredCall();
    if (!isLive && this.#calls > 0 && !this.#options.parallelToolCalls) {
      this.#options.onOddity('second-call-dropped');
      return [];
    }
    const { itemId } = this.#opened(item.id, 'fc');
    if (!isLive) this.#calls += 1;
    const streamed = this.#open.textOf(itemId);
    const delta = this.#rest(item.arguments === '' ? '{}' : item.arguments, streamed);
    return [
      ...(isLive ? [] : [{ type: 'call-started', itemId, callId, name } as const]),
      ...(delta === '' ? [] : [{ type: 'call-delta', itemId, delta } as const]),
      { type: 'call-ended', itemId, callId, name, arguments: streamed + delta, complete: true },
    ];
  }

  /** Live calls that may be shown now. */
  #shown(events: readonly Shown[]): TurnEvent[] {
    return events.map((event): TurnEvent => {
      if (event.kind === 'call-delta') {
        return { type: 'call-delta', itemId: this.#ids.of(event.itemId, 'fc'), delta: event.delta };
      }
      this.#calls += 1;
      const itemId = this.#ids.create(event.itemId, 'fc');
      return { type: 'call-started', itemId, callId: event.callId, name: event.name };
    });
  }

  /** The app-server says nothing of a refusal but that a message began. */
  #newRefusals(complete: boolean): TurnEvent[] {
    const refusals = this.#options.report?.refusals ?? new Map<string, string>();
    return [...refusals].flatMap(([upstreamId, refusal]) => this.#refused(upstreamId, refusal, complete));
  }

  #refused(upstreamId: string, refusal: string, complete: boolean): TurnEvent[] {
    if (this.#toldRefusals.has(upstreamId)) return [];
    this.#toldRefusals.add(upstreamId);
    const { itemId, isOpen } = this.#opened(upstreamId, 'msg');
    const text = this.#open.textOf(itemId);
    const rest = { phase: null, annotations: [], logprobs: [], complete };
    return [
      ...(isOpen ? [] : [{ type: 'message-started', itemId, phase: null } as const]),
      { type: 'refusal-delta', itemId, delta: refusal },
      { type: 'message-ended', itemId, text, refusal, ...rest },
    ];
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

const phaseOf = (phase: unknown): Phase | null =>
  phase === 'commentary' || phase === 'final_answer' ? phase : null;
