import {
  isMessage,
  isToolCall,
  wordsOf,
  type Message,
  type Produced,
  type ToolCall,
  isReasoning,
} from '../../canonical/request/item.ts';
import {
  type ItemDelta,
  type TurnEnded,
  type TurnEvent,
  itemIdOf,
} from '../../canonical/events/turn-event.ts';
import { assertNever } from '../../kit/assert-never.ts';
import { mapAll, type OneOrMore } from '../../kit/collections/lists.ts';
import { JoinedText } from '../shared/joined-text.ts';
import { renderChoices } from '../shared/render-choices.ts';
import type { Frame } from '../../turns/api.ts';
import {
  annotationsOf,
  commonChatFields,
  finishReason,
  isOlder,
  logprobsOf,
  projectAnnotations,
  projectCall,
  projectLogprobs,
  reasoningFields,
  type ChatMeta,
} from './project.ts';
import { ItemQueue, NoLateSummaries } from '../../apis/arrange.ts';

/** Renders the turns of all choices as chunks, in the order of their events. */
export const renderChat = (
  turns: OneOrMore<AsyncIterable<TurnEvent>>,
  meta: ChatMeta,
): AsyncIterable<Frame> => {
  const choices = mapAll(turns, (_, index) => new ChoiceRenderer(index, meta));
  const fields = { ...commonChatFields(meta), object: 'chat.completion.chunk' };
  return renderChoices(turns, fields, meta, (event, index) => (choices[index] ?? choices[0]).next(event));
};

/** A choice in a chunk, and its fields besides index and delta. */
type Choice = Readonly<Record<string, unknown>>;
interface ChunkRest {
  readonly logprobs?: ReturnType<typeof projectLogprobs>;
  readonly finish_reason?: string;
}

/** The delta of a call, in both forms. */
interface CallChunk {
  readonly usual: object;
  readonly older: object;
}

/** Renders the chunks of one choice. */
class ChoiceRenderer {
  readonly #index: number;
  readonly #meta: ChatMeta;
  readonly #content = new JoinedText();
  readonly #refusal = new JoinedText();
  readonly #reasoning = new JoinedText();
  /** The last item with a summary, whose raw text is not shown: one item is written at a time. */
  #summarized: string | null = null;
  /** The calls so far, and their index in `tool_calls`. */
  readonly #calls = new Map<string, { readonly index: number; readonly call: ToolCall }>();
  /** Number of log probabilities of an open message that were sent. */
  readonly #logprobs = new Map<string, number>();
  #hasBegun = false;

  constructor(index: number, meta: ChatMeta) {
    this.#index = index;
    this.#meta = meta;
  }

  *next(event: TurnEvent): Generator<Choice> {
    switch (event.type) {
      case 'item-started':
        if (!isToolCall(event.item)) return;
        yield* this.#begin(null);
        yield* this.#startCall(event.item);
        return;
      case 'item-delta':
        yield* this.#delta(event);
        return;
      case 'item-ended':
        if (isMessage(event.item)) yield* this.#endMessage(event.item);
        return;
      case 'turn-ended':
        yield* this.#end(event);
        return;
      case 'turn-accepted':
      case 'item-status':
        return;
      default:
        assertNever(event);
    }
  }

  *#delta(event: ItemDelta): Generator<Choice> {
    const { itemId, at, delta } = event;
    switch (at) {
      case 'text':
        yield* this.#textDelta(event);
        return;
      case 'refusal': {
        const refusal = this.#refusal.add(itemId, delta);
        if (refusal === '') return;
        yield* this.#begin(null);
        yield this.#chunk({ refusal });
        return;
      }
      case 'input':
        if (delta !== '') yield* this.#callDelta(itemId, delta);
        return;
      case 'output':
        return;
      default: {
        if (at.list === 'summary' && delta !== '') this.#summarized = itemId;
        else if (this.#summarized === itemId) return;
        const text = this.#reasoning.add(`${itemId} ${at.index}`, delta);
        if (text === '') return;
        yield* this.#begin(null);
        yield this.#chunk(reasoningFields(text));
      }
    }
  }

  *#textDelta({ itemId, delta, logprobs = [] }: ItemDelta): Generator<Choice> {
    const content = this.#content.add(itemId, delta);
    if (content === '' && logprobs.length === 0) return;
    this.#logprobs.set(itemId, (this.#logprobs.get(itemId) ?? 0) + logprobs.length);
    // Log probabilities alone must not turn `content: null` into `""`.
    yield* this.#begin(content === '' ? null : '');
    yield this.#chunk(content === '' ? {} : { content }, { logprobs: projectLogprobs(logprobs) });
  }

  /** The first delta of a choice: the role, and the final `content` if nothing follows. */
  *#begin(content: '' | null): Generator<Choice> {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    yield this.#chunk({ role: 'assistant', content, refusal: null });
  }

  *#startCall(call: Produced<ToolCall>): Generator<Choice> {
    const index = this.#calls.size;
    this.#calls.set(call.id, { index, call });
    yield* this.#callChunk(index, call, {
      usual: projectCall(call),
      older: { name: call.name, arguments: '' },
    });
  }

  *#callDelta(itemId: string, delta: string): Generator<Choice> {
    const open = this.#calls.get(itemId);
    if (open === undefined) return;
    const { index, call } = open;
    yield* this.#callChunk(index, call, {
      usual: call.tool === 'function' ? { function: { arguments: delta } } : { custom: { input: delta } },
      older: { arguments: delta },
    });
  }

  /** The legacy form supports only one call. */
  *#callChunk(index: number, call: ToolCall, added: CallChunk): Generator<Choice> {
    const usual = this.#meta.isLegacy ? {} : { tool_calls: [{ index, ...added.usual }] };
    const older = index === 0 && isOlder(call, this.#meta) ? { function_call: added.older } : {};
    if (index === 0 || !this.#meta.isLegacy) yield this.#chunk({ ...usual, ...older });
  }

  /** Sends what is known only at the end of a message: its citations, and late log probabilities. */
  *#endMessage(message: Produced<Message>): Generator<Choice> {
    const offset = this.#content.length - wordsOf(message, 'text').length;
    const annotations = projectAnnotations(annotationsOf(message), offset);
    const logprobs = logprobsOf(message).slice(this.#logprobs.get(message.id) ?? 0);
    this.#logprobs.delete(message.id);
    if (annotations.length === 0 && logprobs.length === 0) return;
    yield* this.#begin(null);
    yield this.#chunk(annotations.length === 0 ? {} : { annotations }, {
      logprobs: projectLogprobs(logprobs),
    });
  }

  *#end(event: TurnEnded): Generator<Choice> {
    const saidNothing = this.#content.length + this.#refusal.length + this.#calls.size === 0;
    if (saidNothing && this.#hasBegun) yield this.#chunk({ content: '' });
    yield* this.#begin('');
    yield this.#chunk({}, { finish_reason: finishReason(event.outcome, this.#meta) });
  }

  #chunk(delta: Readonly<Record<string, unknown>>, rest: ChunkRest = {}): Choice {
    return { index: this.#index, delta, logprobs: null, finish_reason: null, ...rest };
  }
}

/** Options for the content of a chat answer. */
export interface ArrangeOptions {
  readonly showReasoning: boolean;
  /** False if the content must be one JSON value. */
  readonly showCommentary: boolean;
}

/**
 * Serializes the messages of a turn, in the order they started, because a chat answer is one text; likewise its
 * reasoning. Runs before `render` and `fold`, so that both agree. Commentary keeps its position.
 */
export async function* arrangeChat(
  events: AsyncIterable<TurnEvent>,
  options: ArrangeOptions,
): AsyncGenerator<TurnEvent> {
  const arranger = new Arranger(options);
  for await (const event of events) yield* arranger.next(event);
}

class Arranger {
  readonly #options: ArrangeOptions;
  readonly #hidden = new Set<string>();
  /** Messages are joined to one text, and so is reasoning; calls are independent. */
  readonly #messages = new ItemQueue();
  readonly #reasoning = new ItemQueue();
  readonly #queues = new Map<string, ItemQueue>();
  readonly #summaries = new NoLateSummaries();

  constructor(options: ArrangeOptions) {
    this.#options = options;
  }

  *next(made: TurnEvent): Generator<TurnEvent> {
    const event = this.#summaries.next(made);
    if (event === null) return;
    const itemId = itemIdOf(event);
    if (itemId === null) {
      yield event;
      return;
    }
    if (event.type === 'item-started') this.#place(event.item);
    if (this.#hidden.has(itemId)) return;
    const queue = this.#queues.get(itemId);
    if (queue === undefined) yield event;
    else yield* queue.take(event, itemId);
  }

  #place(head: Produced): void {
    if (!this.#isShown(head)) this.#hidden.add(head.id);
    else if (isMessage(head)) this.#queues.set(head.id, this.#messages);
    else if (isReasoning(head)) this.#queues.set(head.id, this.#reasoning);
  }

  /** Chat has messages, calls of the client's tools, and reasoning if enabled. */
  #isShown(head: Produced): boolean {
    if (isMessage(head)) return this.#options.showCommentary || head.phase !== 'commentary';
    return isReasoning(head) ? this.#options.showReasoning : isToolCall(head);
  }
}
