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
import type { TokenUsageBreakdown } from '../protocol/generated/v2/TokenUsageBreakdown.ts';
import type { TurnError } from '../protocol/generated/v2/TurnError.ts';
import type { KnownNotification } from '../protocol/methods.ts';
import { incompleteReason, toFailure } from './failures.ts';

/** A model that cannot stop would otherwise be asked again for ever. */
const MAX_UNDECLARED_CALLS = 16;

/** Things that are not a client's business but must not go unseen. */
export type Oddity = 'undeclared-call' | 'second-call-dropped' | 'text-differs';

export interface TurnTranslatorOptions {
  readonly turnId: string;
  readonly declaredTools: ReadonlySet<string>;
  readonly parallelToolCalls: boolean;
  readonly ids: IdSource;
  readonly onOddity: (oddity: Oddity) => void;
}

/** The app-server's notifications of one turn → turn events. Holds the turn's state, does no IO. */
export class TurnTranslator {
  readonly #options: TurnTranslatorOptions;
  readonly #open = new OpenItems();
  /** Upstream item id → ours. They are the same unless the upstream's is missing or used twice. */
  readonly #ids = new Map<string, string>();
  readonly #usedIds = new Set<string>();
  #calls = 0;
  #undeclaredCalls = 0;
  #usage: Usage | null = null;
  /** Of the whole thread, so of this turn; the only numbers there are when a response is incomplete. */
  #threadUsage: Usage | null = null;
  #ended = false;

  constructor(options: TurnTranslatorOptions) {
    this.#options = options;
  }

  get ended(): boolean {
    return this.#ended;
  }

  next(notification: KnownNotification): TurnEvent[] {
    if (this.#ended) return [];
    const events = this.#translate(notification);
    for (const event of events) this.#open.follow(event);
    return events;
  }

  /** Ends the turn from outside: the worker is gone, the reader too slow. */
  end(outcome: Outcome): TurnEvent[] {
    if (this.#ended) return [];
    this.#ended = true;
    const complete = outcome.kind === 'completed' || outcome.kind === 'tool-calls';
    const usage = this.#usage ?? (outcome.kind === 'incomplete' ? this.#threadUsage : null);
    return [...this.#open.endAll(complete), { type: 'turn-ended', outcome, usage }];
  }

  #translate(notification: KnownNotification): TurnEvent[] {
    const { method, params } = notification;
    if ('turnId' in params && params.turnId !== this.#options.turnId) return [];
    switch (method) {
      case 'item/started':
        return this.#itemStarted(params.item);
      case 'item/agentMessage/delta':
        return [{ type: 'text-delta', itemId: this.#idOf(params.itemId, 'msg'), delta: params.delta }];
      case 'item/reasoning/summaryPartAdded':
        return [
          {
            type: 'reasoning-summary-started',
            itemId: this.#idOf(params.itemId, 'rs'),
            index: params.summaryIndex,
          },
        ];
      case 'item/reasoning/summaryTextDelta':
        return [
          {
            type: 'reasoning-summary-delta',
            itemId: this.#idOf(params.itemId, 'rs'),
            index: params.summaryIndex,
            delta: params.delta,
          },
        ];
      case 'item/reasoning/textDelta':
        return [
          {
            type: 'reasoning-text-delta',
            itemId: this.#idOf(params.itemId, 'rs'),
            index: params.contentIndex,
            delta: params.delta,
          },
        ];
      case 'rawResponseItem/completed':
        return this.#itemCompleted(params.item);
      case 'rawResponse/completed':
        this.#usage = addUsage(this.#usage, params.usage === null ? null : toUsage(params.usage));
        return this.#calls > 0 ? this.end({ kind: 'tool-calls' }) : [];
      case 'thread/tokenUsage/updated':
        this.#threadUsage = toUsage(params.tokenUsage.total);
        return [];
      case 'error':
        // The turn's end carries the same error; one that is retried is only news.
        return [];
      case 'turn/completed':
        return this.end(this.#outcomeOf(params.turn.status, params.turn.error));
      default:
        return assertNever(method);
    }
  }

  #itemStarted(item: { readonly type: string; readonly id: string; readonly phase?: unknown }): TurnEvent[] {
    if (item.type === 'agentMessage') {
      return [{ type: 'message-started', itemId: this.#newId(item.id, 'msg'), phase: phaseOf(item.phase) }];
    }
    if (item.type === 'reasoning') return [{ type: 'reasoning-started', itemId: this.#newId(item.id, 'rs') }];
    return [];
  }

  #itemCompleted(item: ResponseItem): TurnEvent[] {
    switch (item.type) {
      case 'message':
        return item.role === 'assistant' ? this.#messageCompleted(item) : [];
      case 'reasoning':
        return this.#reasoningCompleted(item);
      case 'function_call':
        return this.#callCompleted(item);
      case 'web_search_call':
      case 'image_generation_call':
      case 'compaction':
        return [{ type: 'carried-item', itemId: this.#newId(item.id, 'item'), wire: withoutMetadata(item) }];
      case 'function_call_output':
      case 'custom_tool_call_output':
      case 'tool_search_output':
        // What codex itself answered to a call that is not ours.
        return [];
      case 'custom_tool_call':
      case 'local_shell_call':
      case 'tool_search_call':
        return this.#undeclaredCall();
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

  #messageCompleted(item: Extract<ResponseItem, { type: 'message' }>): TurnEvent[] {
    const events: TurnEvent[] = [];
    const known = this.#ids.get(item.id ?? '');
    const isOpen = known !== undefined && this.#open.has(known);
    const itemId = isOpen ? known : this.#newId(item.id, 'msg');
    const phase = phaseOf(item.phase);
    if (!isOpen) events.push({ type: 'message-started', itemId, phase });
    const parts = item.content.filter((part) => part.type === 'output_text');
    const whole = parts.map((part) => part.text).join('');
    const streamed = this.#open.textOf(itemId);
    const rest = whole.startsWith(streamed) ? whole.slice(streamed.length) : '';
    if (!whole.startsWith(streamed)) this.#options.onOddity('text-differs');
    if (rest !== '') events.push({ type: 'text-delta', itemId, delta: rest });
    events.push({
      type: 'message-ended',
      itemId,
      text: streamed + rest,
      phase,
      annotations: parts.flatMap((part) => (part.annotations ?? []) as JsonObject[]),
      complete: true,
    });
    return events;
  }

  #reasoningCompleted(item: Extract<ResponseItem, { type: 'reasoning' }>): TurnEvent[] {
    const events: TurnEvent[] = [];
    const known = this.#ids.get(item.id ?? '');
    const isOpen = known !== undefined && this.#open.has(known);
    const itemId = isOpen ? known : this.#newId(item.id, 'rs');
    if (!isOpen) events.push({ type: 'reasoning-started', itemId });
    const complete = (type: 'summary' | 'content', parts: readonly { readonly text: string }[]): string[] =>
      parts.map(({ text }, index) => {
        const streamed = this.#open.reasoningOf(itemId, type)[index] ?? '';
        if (!text.startsWith(streamed)) {
          this.#options.onOddity('text-differs');
          return streamed;
        }
        const delta = text.slice(streamed.length);
        const event = type === 'summary' ? 'reasoning-summary-delta' : 'reasoning-text-delta';
        if (delta !== '') events.push({ type: event, itemId, index, delta });
        return text;
      });
    const summary = complete('summary', item.summary);
    const content = complete('content', item.content ?? []);
    const encryptedContent = item.encrypted_content;
    events.push({ type: 'reasoning-ended', itemId, summary, content, encryptedContent, complete: true });
    return events;
  }

  #callCompleted(item: Extract<ResponseItem, { type: 'function_call' }>): TurnEvent[] {
    if (!this.#options.declaredTools.has(item.name)) return this.#undeclaredCall();
    if (this.#calls > 0 && !this.#options.parallelToolCalls) {
      this.#options.onOddity('second-call-dropped');
      return [];
    }
    this.#calls += 1;
    const itemId = this.#newId(item.id, 'fc');
    const callId = item.call_id;
    const { name } = item;
    const text = item.arguments === '' ? '{}' : item.arguments;
    return [
      { type: 'call-started', itemId, callId, name },
      { type: 'call-delta', itemId, delta: text },
      { type: 'call-ended', itemId, callId, name, arguments: text, complete: true },
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

  #outcomeOf(status: string, error: TurnError | null): Outcome {
    if (status === 'completed') return { kind: 'completed' };
    if (error === null) return { kind: 'failed', failure: failure('server_error') };
    const reason = incompleteReason(error);
    return reason === null ? { kind: 'failed', failure: toFailure(error) } : { kind: 'incomplete', reason };
  }

  #idOf(upstreamId: string, prefix: string): string {
    return this.#ids.get(upstreamId) ?? this.#newId(upstreamId, prefix);
  }

  #newId(upstreamId: string | undefined, prefix: string): string {
    const usable = upstreamId !== undefined && upstreamId !== '' && !this.#usedIds.has(upstreamId);
    const itemId = usable ? upstreamId : this.#options.ids.mint(prefix);
    this.#usedIds.add(itemId);
    if (upstreamId !== undefined) this.#ids.set(upstreamId, itemId);
    return itemId;
  }
}

const phaseOf = (phase: unknown): Phase | null =>
  phase === 'commentary' || phase === 'final_answer' ? phase : null;

const toUsage = (usage: TokenUsageBreakdown): Usage => ({
  inputTokens: usage.inputTokens,
  cachedInputTokens: usage.cachedInputTokens,
  cacheWriteInputTokens: usage.cacheWriteInputTokens,
  outputTokens: usage.outputTokens,
  reasoningTokens: usage.reasoningOutputTokens,
  totalTokens: usage.totalTokens,
});

/** codex's own bookkeeping on an item is nothing that the model said. */
const withoutMetadata = (item: ResponseItem): JsonObject & { readonly type: string } => {
  const { internal_chat_message_metadata_passthrough: _, ...rest } = item as Record<string, unknown> & {
    type: string;
  };
  return rest as JsonObject & { readonly type: string };
};
