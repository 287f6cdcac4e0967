import {
  type TurnEvent,
  itemIdOf,
  joinedDelta,
  type ItemDelta,
  type TurnEnded,
} from '../../../canonical/events/turn-event.ts';
import { Accumulator } from '../../../canonical/events/accumulate.ts';
import {
  isMessage,
  isReasoning,
  type ItemStatus,
  type Message,
  type Produced,
} from '../../../canonical/request/item.ts';
import type { IdSource } from '../../../kit/ambient.ts';
import { yieldToLoop } from '../../../kit/async/event-loop.ts';
import { JoinedText, movedAnnotation, SEPARATOR } from '../../shared/joined-text.ts';
import { ItemQueue } from '../../../apis/arrange.ts';

interface MessageFirstOptions {
  readonly ids: IdSource;
  /** False if the text must be one JSON value. */
  readonly showCommentary: boolean;
}

/**
 * Puts all text of an answer into one message at `output[0]`, followed by everything else in the model's order, without
 * reasoning. A model may write more text after a call, so calls are held until the turn ends.
 */
async function* messageFirst(
  events: AsyncIterable<TurnEvent>,
  options: MessageFirstOptions,
): AsyncGenerator<TurnEvent> {
  const arranger = new MessageFirst(options);
  for await (const event of events) {
    for (const arranged of arranger.next(event)) {
      yield arranged;
      // Thousands of held calls may be sent at once.
      if (arranged.type === 'item-ended') await yieldToLoop();
    }
  }
}

/** A message of the model, as far as it was sent. */
interface Source {
  chars: number;
  annotations: number;
  logprobs: number;
}

class MessageFirst {
  readonly #options: MessageFirstOptions;
  readonly #hidden = new Set<string>();
  readonly #queue = new ItemQueue();
  readonly #sources = new Map<string, Source>();
  /** The message for all text, and its content so far. */
  #head: Produced<Message> | null = null;
  #status: ItemStatus = 'completed';
  readonly #sent = new Accumulator();
  readonly #text = new JoinedText();
  readonly #refusal = new JoinedText();
  /** The refusal, sent after all text at the end of the turn. Null if the model did not refuse. */
  #refused: string | null = null;
  /** Events of all other items. */
  readonly #held: TurnEvent[] = [];

  constructor(options: MessageFirstOptions) {
    this.#options = options;
  }

  *next(event: TurnEvent): Generator<TurnEvent> {
    if (event.type === 'turn-ended') {
      yield* this.#end(event);
      return;
    }
    const itemId = itemIdOf(event);
    if (itemId === null) {
      yield event;
      return;
    }
    if (event.type === 'item-started') this.#place(event.item);
    if (this.#hidden.has(itemId)) return;
    if (!this.#sources.has(itemId)) this.#hold(event);
    else for (const one of this.#queue.take(event, itemId)) yield* this.#merge(one);
  }

  #place(head: Produced): void {
    const isHidden =
      isReasoning(head) || (isMessage(head) && head.phase === 'commentary' && !this.#options.showCommentary);
    if (isHidden) this.#hidden.add(head.id);
    else if (isMessage(head)) this.#sources.set(head.id, { chars: 0, annotations: 0, logprobs: 0 });
  }

  #hold(event: TurnEvent): void {
    const last = this.#held.at(-1);
    const joined = last === undefined ? null : joinedDelta(last, event);
    if (joined === null) this.#held.push(event);
    else this.#held[this.#held.length - 1] = joined;
  }

  /** Applies an event of one of the model's messages to the one message that is sent. */
  *#merge(event: TurnEvent): Generator<TurnEvent> {
    if (event.type === 'item-started' && isMessage(event.item)) {
      if (this.#head === null) yield this.#emit({ type: 'item-started', item: this.#begin(event.item) });
    } else if (event.type === 'item-delta') {
      yield* this.#delta(event);
    } else if (event.type === 'item-ended' && isMessage(event.item)) {
      this.#status = event.item.status ?? 'completed';
      yield* this.#leftOver(event.item);
    }
  }

  /** Keeps the phase of a final answer but not of commentary, because the answer may follow in the same message. */
  #begin({ phase, ...message }: Produced<Message>): Produced<Message> {
    this.#head = { ...message, ...(phase === 'final_answer' ? { phase } : {}) };
    return this.#head;
  }

  *#delta(event: ItemDelta): Generator<TurnEvent> {
    const { itemId, at, delta, logprobs, annotation } = event;
    const source = this.#sources.get(itemId);
    if (source === undefined || this.#head === null) return;
    if (at === 'refusal') this.#refused = (this.#refused ?? '') + this.#refusal.add(itemId, delta);
    if (at !== 'text') return;
    const added = this.#text.add(itemId, delta);
    source.chars += delta.length;
    source.annotations += annotation === undefined ? 0 : 1;
    source.logprobs += logprobs?.length ?? 0;
    yield this.#emit({
      ...event,
      itemId: this.#head.id,
      delta: added,
      ...(annotation === undefined ? {} : { annotation: movedAnnotation(annotation, this.#startOf(source)) }),
    });
  }

  /** The offset of a message's text in the whole text. */
  #startOf({ chars }: Source): number {
    const { length } = this.#text;
    if (chars > 0) return length - chars;
    return length === 0 ? 0 : length + SEPARATOR.length;
  }

  /** Citations and log probabilities that came only with the end of a message. */
  *#leftOver({ id, parts }: Produced<Message>): Generator<TurnEvent> {
    const source = this.#sources.get(id);
    if (source === undefined) return;
    const texts = parts.flatMap((part) => (part.kind === 'text' ? [part] : []));
    const empty = { type: 'item-delta', itemId: id, at: 'text', delta: '' } as const;
    const logprobs = texts.flatMap((part) => part.logprobs ?? []).slice(source.logprobs);
    if (logprobs.length > 0) yield* this.#delta({ ...empty, logprobs });
    for (const annotation of texts.flatMap((part) => part.annotations ?? []).slice(source.annotations)) {
      yield* this.#delta({ ...empty, annotation });
    }
  }

  *#end(event: TurnEnded): Generator<TurnEvent> {
    if (this.#head !== null) yield* this.#endMessage(this.#head);
    // A turn that failed before any output has no message, not even an empty one.
    else if (this.#held.length > 0 || event.outcome.kind !== 'failed') yield* this.#placeholder();
    yield* this.#held;
    yield event;
  }

  *#endMessage({ id }: Produced<Message>): Generator<TurnEvent> {
    if (this.#refused !== null) {
      yield this.#emit({ type: 'item-delta', itemId: id, at: 'refusal', delta: this.#refused });
    }
    yield* this.#sent.endOpen(this.#status);
  }

  *#placeholder(): Generator<TurnEvent> {
    const id = mintPlaceholderId(this.#options.ids);
    const head = { kind: 'message', id, role: 'assistant', parts: [] } as const;
    yield { type: 'item-started', item: head };
    yield {
      type: 'item-ended',
      item: { ...head, parts: [{ kind: 'text', text: '' }], status: 'completed' },
    };
  }

  #emit(event: TurnEvent): TurnEvent {
    this.#sent.add(event);
    return event;
  }
}

/** `natural`: the model's own items in its own order. `message-first`: see `messageFirst`. */
export type Layout = 'message-first' | 'natural';

interface LayoutOptions {
  /** The requested layout, or null. */
  readonly requested: Layout | null;
  /** The answer may have a compaction, whose position matters because it replaces everything before it. */
  readonly mayCompact: boolean;
  /** Codex clients expect what codex's own backend sends. */
  readonly isCodex: boolean;
  /** The configured layout. */
  readonly configured: Layout;
}

export const chooseLayout = ({ requested, mayCompact, isCodex, configured }: LayoutOptions): Layout =>
  requested ?? (mayCompact || isCodex ? 'natural' : configured);

/**
 * Chooses which items an answer has, and their order. A layout transforms events before `render` and `fold`, so that a
 * stream and its JSON form agree: `output_index` is the order in which items start.
 */
export const arrange = (
  events: AsyncIterable<TurnEvent>,
  layout: Layout,
  options: MessageFirstOptions,
): AsyncIterable<TurnEvent> => (layout === 'natural' ? events : messageFirst(events, options));

/**
 * Ids of the empty message with which the `message-first` layout begins an answer without text. A client may send back a
 * reference to it, and the id shows that there is nothing to look up.
 */
const PREFIX = 'msg_empty';

const mintPlaceholderId = (ids: IdSource): string => ids.mint(PREFIX);

export const isPlaceholderId = (id: string): boolean => id.startsWith(`${PREFIX}_`);
