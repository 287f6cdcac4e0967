import { Accumulator } from '../../canonical/accumulate.ts';
import {
  saidParts,
  type ItemStatus,
  type Message,
  type Phase,
  type Produced,
  type Reasoning,
  type Slot,
  type ToolCall,
} from '../../canonical/item.ts';
import type { ItemEnded, TurnEvent } from '../../canonical/turn-event.ts';
import type { IdSource } from '../../kit/ambient.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { ResponseItem } from '../protocol/generated/ResponseItem.ts';
import { ItemIds } from './item-ids.ts';

type ListName = 'summary' | 'reasoning';

/** An upstream's index must not make a list of any length. */
const MAX_SKIPPED = 100;

/** The items of a turn: what has been told of each, and what is still to be told when it comes whole. */
export class ToldItems {
  readonly #items = new Accumulator();
  readonly #ids: ItemIds;
  readonly #onTextDiffers: () => void;

  constructor(ids: IdSource, onTextDiffers: () => void) {
    this.#ids = new ItemIds(ids);
    this.#onTextDiffers = onTextDiffers;
  }

  endOpen(status: ItemStatus): readonly ItemEnded[] {
    return this.#items.endOpen(status);
  }

  messageStarted(upstreamId: string, phase: unknown): TurnEvent[] {
    return this.#tell([
      { type: 'item-started', item: messageHead(this.#ids.create(upstreamId, 'msg'), phase) },
    ]);
  }

  reasoningStarted(upstreamId: string): TurnEvent[] {
    return this.#tell([{ type: 'item-started', item: reasoningHead(this.#ids.create(upstreamId, 'rs')) }]);
  }

  callStarted(upstreamId: string, callId: string, name: string): TurnEvent[] {
    const item = callHead(this.#ids.create(upstreamId, 'fc'), callId, name);
    return this.#tell([{ type: 'item-started', item }]);
  }

  /** A delta of an item that is being told; of any other the end says everything. */
  delta(upstreamId: string, kind: Produced['kind'], at: Slot, delta: string): TurnEvent[] {
    const head = this.openOne(upstreamId, kind);
    if (head === null || !this.#isNext(head.id, at)) return [];
    return this.#tell([{ type: 'item-delta', itemId: head.id, at, delta }]);
  }

  /** The head of an item of this kind that is being told right now. */
  openOne<K extends Produced['kind']>(
    upstreamId: string | undefined,
    kind: K,
  ): Extract<Produced, { kind: K }> | null {
    const head = this.#items.headOf(this.#ids.known(upstreamId) ?? '');
    return head?.kind === kind ? (head as Extract<Produced, { kind: K }>) : null;
  }

  /** What of the whole text has not been streamed; nothing where the stream said something else. */
  #rest(whole: string, streamed: string): string {
    if (whole.startsWith(streamed)) return whole.slice(streamed.length);
    this.#onTextDiffers();
    return '';
  }

  /** Parts of a list come one after the other: what was left behind gets no more, and none is skipped far. */
  #isNext(itemId: string, at: Slot): boolean {
    if (typeof at === 'string') return true;
    const count = this.#items.partsOf(itemId, at.list).length;
    return at.index >= count - 1 && at.index <= count + MAX_SKIPPED;
  }

  /** Tells what of a text is still to be told, and says what the whole of it is. */
  #complete(events: TurnEvent[], itemId: string, at: Slot, given: string): string {
    const streamed = this.#items.textOf(itemId, at);
    const rest = this.#rest(given, streamed);
    const delta = this.#isNext(itemId, at) ? rest : '';
    if (delta !== '') events.push({ type: 'item-delta', itemId, at, delta });
    return streamed + delta;
  }

  message(item: Extract<ResponseItem, { type: 'message' }>): TurnEvent[] {
    const open = this.openOne(item.id, 'message');
    const head = open ?? messageHead(this.#ids.create(item.id, 'msg'), item.phase);
    const events: TurnEvent[] = open === null ? [{ type: 'item-started', item: head }] : [];
    const written = item.content.filter((part) => part.type === 'output_text');
    const text = this.#complete(events, head.id, 'text', written.map((part) => part.text).join(''));
    const parts = saidParts({
      text,
      refusal: null,
      annotations: written.flatMap((part) => (part.annotations ?? []) as JsonObject[]),
      logprobs: written.flatMap((part) => (part.logprobs ?? []) as JsonObject[]),
    });
    const status = item.status === 'incomplete' ? 'incomplete' : 'completed';
    events.push({ type: 'item-ended', item: { ...phaseOf(item.phase), ...head, parts, status } });
    return this.#tell(events);
  }

  reasoning(item: Extract<ResponseItem, { type: 'reasoning' }>): TurnEvent[] {
    const open = this.openOne(item.id, 'reasoning');
    const head = open ?? reasoningHead(this.#ids.create(item.id, 'rs'));
    const events: TurnEvent[] = open === null ? [{ type: 'item-started', item: head }] : [];
    const complete = (list: ListName, parts: readonly { readonly text: string }[]): string[] => {
      // A part that was streamed is there, also if the whole has fewer.
      const streamed = this.#items.partsOf(head.id, list);
      return Array.from({ length: Math.max(parts.length, streamed.length) }, (_, index) =>
        this.#complete(events, head.id, { list, index }, parts[index]?.text ?? ''),
      );
    };
    const summary = complete('summary', item.summary);
    const content = complete('reasoning', item.content ?? []);
    const { encrypted_content: encryptedContent } = item;
    events.push({
      type: 'item-ended',
      item: {
        ...head,
        summary,
        ...(content.length === 0 ? {} : { content }),
        ...(encryptedContent === null ? {} : { encryptedContent }),
        status: 'completed',
      },
    });
    return this.#tell(events);
  }

  /** A call of the client's tool, of which nothing may have been told yet. */
  call(item: Extract<ResponseItem, { type: 'function_call' }>, open: Produced<ToolCall> | null): TurnEvent[] {
    const head = open ?? callHead(this.#ids.create(item.id, 'fc'), item.call_id, item.name);
    const events: TurnEvent[] = open === null ? [{ type: 'item-started', item: head }] : [];
    const input = this.#complete(events, head.id, 'input', item.arguments === '' ? '{}' : item.arguments);
    return this.#tell([...events, { type: 'item-ended', item: { ...head, input, status: 'completed' } }]);
  }

  /** An item that comes whole, and of which nobody reads more than that. */
  whole(upstreamId: string | undefined, produced: (id: string) => Produced): TurnEvent[] {
    const item = produced(this.#ids.create(upstreamId, 'item'));
    return this.#tell([
      { type: 'item-started', item },
      { type: 'item-ended', item },
    ]);
  }

  /** The app-server tells nothing of a refusal but that a message began. */
  refused(upstreamId: string, refusal: string, status: ItemStatus): TurnEvent[] {
    const open = this.openOne(upstreamId, 'message');
    const head = open ?? messageHead(this.#ids.create(upstreamId, 'msg'), null);
    const text = this.#items.textOf(head.id, 'text');
    const parts = saidParts({ text, refusal, annotations: [], logprobs: [] });
    return this.#tell([
      ...(open === null ? [{ type: 'item-started', item: head } as const] : []),
      { type: 'item-delta', itemId: head.id, at: 'refusal', delta: refusal },
      { type: 'item-ended', item: { ...head, parts, status } },
    ]);
  }

  /** What is told is remembered at once: the next item may be about the same. */
  #tell(events: TurnEvent[]): TurnEvent[] {
    for (const event of events) this.#items.add(event);
    return events;
  }
}

const phaseOf = (phase: unknown): { readonly phase?: Phase } =>
  phase === 'commentary' || phase === 'final_answer' ? { phase } : {};

const messageHead = (id: string, phase: unknown): Produced<Message> => ({
  kind: 'message',
  id,
  role: 'assistant',
  parts: [],
  ...phaseOf(phase),
});

const reasoningHead = (id: string): Produced<Reasoning> => ({ kind: 'reasoning', id, summary: [] });

const callHead = (id: string, callId: string, name: string): Produced<ToolCall> => ({
  kind: 'tool-call',
  id,
  tool: 'function',
  callId,
  name,
  input: '',
});
