import { Accumulator } from '../../canonical/events/accumulate.ts';
import {
  endItem,
  isMessage,
  type ItemStatus,
  type Message,
  type Produced,
  type ToolCall,
  type CallContent,
} from '../../canonical/request/item.ts';
import type { ItemDelta, ItemEnded, TurnEnded, TurnEvent } from '../../canonical/events/turn-event.ts';
import { statusAfter } from '../../canonical/events/well-formed.ts';
import type { IdSource } from '../../kit/ambient.ts';
import { assertNever } from '../../kit/assert-never.ts';
import { isJsonObject, type Json } from '../../kit/json/json.ts';
import { runSliced, type Sliced } from '../../kit/async/event-loop.ts';
import { HeldLogprobs, withLogprobs } from '../steps/stop-sequences.ts';
import { BlockReader, type Piece } from './read-blocks.ts';
import type { WrittenCall } from './written-call.ts';

export interface TakeCallsOptions {
  /** The call of a client tool; null: there is no such tool. */
  readonly callOf: (written: WrittenCall) => CallContent | null;
  /** False: only the first call is kept. */
  readonly isParallel: boolean;
  readonly ids: IdSource;
  readonly signal: AbortSignal;
  readonly onDropped: () => void;
  /** A message was cut off in a call, which is dropped. */
  readonly onHalf: () => void;
}

/** Turns calls that a model wrote as text into the events of tool calls. For one answer. */
export class CallTaking {
  readonly #options: TakeCallsOptions;
  readonly #all = new Accumulator();
  /** By upstream id. */
  readonly #messages = new Map<string, OpenMessage>();
  /** A message that ended in what may be a part of a call. */
  #undecided: { readonly message: OpenMessage; readonly event: ItemEnded } | null = null;
  /** Everything that the model produced, calls of unknown tools included. */
  readonly produced: (Produced | ToolCall)[] = [];
  /** Calls of unknown tools. */
  readonly unknown: ToolCall[] = [];
  calls = 0;

  constructor(options: TakeCallsOptions) {
    this.#options = options;
  }

  async *take(events: AsyncIterable<TurnEvent>): AsyncGenerator<TurnEvent> {
    for await (const event of events) {
      for await (const sent of this.#eventsOf(event)) {
        this.#all.add(sent);
        if (sent.type === 'item-ended') this.produced.push(sent.item);
        yield sent;
      }
    }
  }

  async *#eventsOf(event: TurnEvent): AsyncGenerator<TurnEvent> {
    yield* this.#decide(event);
    switch (event.type) {
      case 'item-started':
        if (isMessage(event.item)) this.#messages.set(event.item.id, new OpenMessage(event.item));
        else yield event;
        return;
      case 'item-delta': {
        const message = this.#messages.get(event.itemId);
        if (message === undefined) yield event;
        else if (event.at === 'text') {
          message.logprobs.add(event.logprobs ?? []);
          yield* this.#pieces(message, message.reader.read(event.delta));
          if (event.annotation !== undefined) message.citations.push(event.annotation);
          yield* this.#cite(message);
        } else {
          // A refusal follows the text.
          yield* this.#pieces(message, message.reader.end('finished'));
          yield* this.#open(message);
          yield { ...event, itemId: message.id };
        }
        return;
      }
      case 'item-ended': {
        const message = this.#messages.get(event.item.id);
        if (message === undefined) yield event;
        else yield* this.#end(message, event);
        return;
      }
      case 'turn-ended':
        yield* this.#turnEnded(event);
        return;
      case 'turn-accepted':
      case 'item-status':
        yield event;
        return;
      default:
        assertNever(event);
    }
  }

  async *#pieces(message: OpenMessage, reading: Sliced<readonly Piece[]>): AsyncGenerator<TurnEvent> {
    for (const piece of await runSliced(reading, this.#options.signal)) {
      if (piece.kind === 'text') {
        yield* this.#open(message);
        const delta: ItemDelta = { type: 'item-delta', itemId: message.id, at: 'text', delta: piece.text };
        yield withLogprobs(delta, message.logprobs.take(piece.text.length));
        message.read += piece.text.length;
        yield* this.#cite(message);
        continue;
      }
      message.isCut = true;
      message.logprobs.take(piece.chars);
      message.read += piece.chars;
      if (piece.kind === 'half') {
        message.isHalf = true;
        this.#options.onHalf();
        continue;
      }
      for (const written of piece.calls) {
        yield* this.#close(message, 'completed');
        yield* this.#call(written);
      }
    }
  }

  /** Sends citations once the segment has text. */
  *#cite(message: OpenMessage): Generator<TurnEvent> {
    if (!message.isOpen) return;
    for (const one of message.citations.splice(0)) {
      const annotation = movedBy(one, message.offset);
      yield { type: 'item-delta', itemId: message.id, at: 'text', delta: '', annotation };
    }
  }

  /** Starts the next segment of a message. A message of calls only has none. */
  *#open(message: OpenMessage): Generator<TurnEvent> {
    if (message.isOpen) return;
    if (message.segments > 0) message.id = this.#options.ids.mint('msg');
    message.isOpen = true;
    message.segments += 1;
    message.offset = message.read;
    yield { type: 'item-started', item: { ...message.head, id: message.id } };
  }

  *#close(message: OpenMessage, ended: ItemStatus): Generator<TurnEvent> {
    const status = message.isHalf ? 'incomplete' : ended;
    const head = this.#all.startedItem(message.id);
    const said = this.#all.contentOf(message.id);
    if (!message.isOpen || head === null || said === null) return;
    message.isOpen = false;
    yield { type: 'item-ended', item: endItem(head, said, status) };
  }

  *#call(written: WrittenCall): Generator<TurnEvent> {
    const { ids } = this.#options;
    const known = this.#options.callOf(written);
    const callId = ids.mint('call');
    if (known === null) {
      const call: ToolCall = { kind: 'tool-call', tool: 'function', callId, ...written };
      this.unknown.push(call);
      this.produced.push(call);
      return;
    }
    if (this.calls > 0 && !this.#options.isParallel) {
      this.#options.onDropped();
      return;
    }
    this.calls += 1;
    const id = ids.mint(known.tool === 'function' ? 'fc' : 'ctc');
    const { input, ...facts } = known;
    const head: Produced<ToolCall> = { kind: 'tool-call', id, callId, ...facts, input: '' };
    yield { type: 'item-started', item: head };
    if (input !== '') yield { type: 'item-delta', itemId: id, at: 'input', delta: input };
    yield { type: 'item-ended', item: { ...head, input, status: 'completed' } };
  }

  async *#end(message: OpenMessage, event: ItemEnded): AsyncGenerator<TurnEvent> {
    this.#messages.delete(message.head.id);
    const status = (isMessage(event.item) ? event.item.status : null) ?? 'completed';
    if (status === 'completed' && message.reader.isUnfinished) this.#undecided = { message, event };
    else yield* this.#finish(message, event, status);
  }

  /** Some backends call a message completed although a limit cut it off: only the end of the turn tells. */
  async *#decide(next: TurnEvent): AsyncGenerator<TurnEvent> {
    if (this.#undecided === null) return;
    const { message, event } = this.#undecided;
    this.#undecided = null;
    yield* this.#finish(message, event, next.type === 'turn-ended' ? statusAfter(next.outcome) : 'completed');
  }

  async *#finish(message: OpenMessage, event: ItemEnded, status: ItemStatus): AsyncGenerator<TurnEvent> {
    yield* this.#rest(message, status);
    if (message.isCut) {
      yield* this.#close(message, status);
      return;
    }
    yield* this.#open(message);
    yield event;
  }

  /** Sends what was held back of a message that has ended. */
  async *#rest(message: OpenMessage, status: ItemStatus): AsyncGenerator<TurnEvent> {
    yield* this.#pieces(message, message.reader.end(status === 'incomplete' ? 'cut-off' : 'finished'));
    // An incomplete item reports the dropped call, even if it is empty.
    if (message.isHalf) yield* this.#open(message);
  }

  async *#turnEnded(event: TurnEnded): AsyncGenerator<TurnEvent> {
    const status = statusAfter(event.outcome);
    for (const message of this.#messages.values()) {
      yield* this.#rest(message, status);
      yield* this.#close(message, status);
    }
    const isCalled = event.outcome.kind === 'completed' && this.calls > 0;
    yield isCalled ? { ...event, outcome: { kind: 'tool-calls' } } : event;
  }
}

/** A message from upstream. Each segment of text between two calls becomes a message of its own. */
class OpenMessage {
  readonly head: Produced<Message>;
  readonly reader = new BlockReader();
  readonly logprobs = new HeldLogprobs();
  /** Citations that have not been sent. */
  readonly citations: Json[] = [];
  /** The id of the current or last segment. */
  id: string;
  isOpen = false;
  segments = 0;
  /** Some of it is not text. */
  isCut = false;
  /** It was cut off in a call. */
  isHalf = false;
  /** Characters read, now and when the current segment began. */
  read = 0;
  offset = 0;

  constructor(head: Produced<Message>) {
    this.head = head;
    this.id = head.id;
  }
}

/** The citation with its positions counted from the beginning of the segment. */
const movedBy = (annotation: Json, offset: number): Json => {
  if (offset === 0 || !isJsonObject(annotation)) return annotation;
  const places = ['start_index', 'end_index', 'index'].flatMap((name) => {
    const place = annotation[name];
    return typeof place === 'number' ? [[name, Math.max(0, place - offset)] as const] : [];
  });
  return { ...annotation, ...Object.fromEntries(places) };
};
