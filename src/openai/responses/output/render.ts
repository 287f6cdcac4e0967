import { Accumulator } from '../../../canonical/events/accumulate.ts';
import type {
  TurnEnded,
  TurnEvent,
  ItemDelta,
  ItemStatusChanged,
} from '../../../canonical/events/turn-event.ts';
import { assertNever } from '../../../kit/assert-never.ts';
import { usageNote, DONE } from '../../../apis/sse.ts';
import type { Frame } from '../../../turns/api.ts';
import {
  projectReply,
  projectStarted,
  type ResponseMeta,
  projectItem,
  reasoningPart,
  refusalPart,
  summaryPart,
  textPart,
} from './project.ts';
import { failure, type Failure } from '../../../canonical/failure/failure.ts';
import { isJsonObject, type JsonObject } from '../../../kit/json/json.ts';
import { errorBody } from '../../shared/error-body.ts';
import type { Part, Produced, Slot } from '../../../canonical/request/item.ts';

/** Renders turn events as OpenAI's typed stream. The last response object is folded from the same events. */
export const renderResponse = (
  events: AsyncIterable<TurnEvent>,
  meta: ResponseMeta,
): AsyncIterable<Frame> => ({
  [Symbol.asyncIterator]: () =>
    new RenderedFrames(events[Symbol.asyncIterator](), new ResponseRenderer(meta)),
});

/** Not a generator: most events are deltas, and one would cost more than their frames. */
class RenderedFrames implements AsyncIterator<Frame, undefined> {
  readonly #events: AsyncIterator<TurnEvent>;
  readonly #renderer: ResponseRenderer;
  #ready: readonly Frame[];
  /** The next of the frames that are ready. */
  #at = 0;

  constructor(events: AsyncIterator<TurnEvent>, renderer: ResponseRenderer) {
    this.#events = events;
    this.#renderer = renderer;
    this.#ready = renderer.begin();
  }

  next(): Promise<IteratorResult<Frame, undefined>> {
    const frame = this.#ready[this.#at];
    if (frame === undefined) return this.#events.next().then(this.#render);
    this.#at += 1;
    return Promise.resolve({ done: false, value: frame });
  }

  async return(): Promise<IteratorResult<Frame, undefined>> {
    this.#ready = [];
    await this.#events.return?.();
    return { done: true, value: undefined };
  }

  readonly #render = (
    step: IteratorResult<TurnEvent>,
  ): IteratorResult<Frame, undefined> | Promise<IteratorResult<Frame, undefined>> => {
    if (step.done === true) return { done: true, value: undefined };
    try {
      this.#ready = this.#renderer.next(step.value);
    } catch (error) {
      return this.#leave(error);
    }
    const [frame] = this.#ready;
    this.#at = 1;
    return frame === undefined ? this.next() : { done: false, value: frame };
  };

  async #leave(error: unknown): Promise<never> {
    await this.return();
    throw error;
  }
}

class ResponseRenderer {
  readonly #meta: ResponseMeta;
  readonly #all = new Accumulator();
  readonly #open = new Map<string, ItemRenderer>();
  #frames: Frame[] = [];
  #sequence = 0;

  constructor(meta: ResponseMeta) {
    this.#meta = meta;
  }

  /** A background response waits for its turn to be accepted. */
  begin(): readonly Frame[] {
    const status = this.#meta.isBackground ? 'queued' : 'in_progress';
    const response = projectStarted(this.#meta, status);
    this.#emit('response.created', { response });
    this.#emit(`response.${status}`, { response });
    return this.#taken();
  }

  /** The frames of an event. */
  next(event: TurnEvent): readonly Frame[] {
    // Deltas need not be added up: an ended item has its texts.
    if (event.type !== 'item-delta') this.#all.add(event);
    switch (event.type) {
      case 'turn-accepted':
        if (!this.#meta.isBackground) return [];
        this.#emit('response.in_progress', { response: projectStarted(this.#meta, 'in_progress') });
        return this.#taken();
      case 'item-started': {
        const { item } = event;
        const renderer = new ItemRenderer(item, this.#all.indexOf(item.id), this.#meta, this.#emit);
        this.#open.set(item.id, renderer);
        renderer.start();
        return this.#taken();
      }
      case 'item-delta':
        this.#open.get(event.itemId)?.delta(event);
        return this.#taken();
      case 'item-status':
        this.#open.get(event.itemId)?.status(event);
        return this.#taken();
      case 'item-ended':
        this.#open.get(event.item.id)?.end(event.item);
        this.#open.delete(event.item.id);
        return this.#taken();
      case 'turn-ended':
        return this.#end(event);
      default:
        return assertNever(event);
    }
  }

  #end(event: TurnEnded): readonly Frame[] {
    const { outcome } = event;
    const response = projectReply(this.#all.reply(), this.#meta);
    if (outcome.kind === 'failed') {
      for (const [type, payload] of failedEvents(outcome.failure, response)) this.#emit(type, payload);
    } else {
      this.#emit(outcome.kind === 'incomplete' ? 'response.incomplete' : 'response.completed', { response });
    }
    const note = usageNote([event]);
    return [...this.#taken().map((frame) => ({ ...frame, ...note })), LAST_FRAME];
  }

  #taken(): readonly Frame[] {
    const frames = this.#frames;
    this.#frames = [];
    return frames;
  }

  readonly #emit: Emit = (type, payload) => {
    this.#frames.push({ event: type, data: { type, sequence_number: this.#sequence, ...payload } });
    this.#sequence += 1;
  };
}

/** The last frame of every stream. */
const LAST_FRAME: Frame = { event: 'done', data: DONE };

type Event = readonly [type: string, payload: Readonly<Record<string, unknown>>];

/** The events that end a failed response. */
const failedEvents = (failed: Failure, response: object): readonly Event[] => {
  // Some clients read only the nested form, others only the flat one.
  const { error } = errorBody(failed);
  return [
    ['error', { code: error.code, message: error.message, param: error.param, error }],
    ['response.failed', { response }],
  ];
};

/**
 * The frames that end the stream of a stored response, numbered from `first` on: for a stream whose server has stopped
 * before it wrote them. A cancelled response has no event for its end.
 */
export const endFrames = (response: JsonObject, first: number): readonly Frame[] => [
  ...eventsOf(response).map(([type, payload], index) => ({
    event: type,
    data: { type, sequence_number: first + index, ...payload },
  })),
  LAST_FRAME,
];

const eventsOf = (response: JsonObject): readonly Event[] => {
  const { status, error } = response;
  if (status === 'completed' || status === 'incomplete') return [[`response.${status}`, { response }]];
  if (status !== 'failed') return [];
  const message = isJsonObject(error) ? error['message'] : undefined;
  return failedEvents(failure('server_error', typeof message === 'string' ? { message } : {}), response);
};

type Payload = Readonly<Record<string, unknown>>;
/** Takes a frame: its type and its other fields. */
type Emit = (type: string, payload: Payload) => void;

/** By item type: the name of its input events, and the fields that the last one repeats. */
const INPUT_EVENTS: Readonly<Record<string, { readonly name: string; readonly fields: readonly string[] }>> =
  {
    function_call: { name: 'function_call_arguments', fields: ['name', 'arguments'] },
    custom_tool_call: { name: 'custom_tool_call_input', fields: ['input'] },
    mcp_call: { name: 'mcp_call_arguments', fields: ['arguments'] },
    code_interpreter_call: { name: 'code_interpreter_call_code', fields: ['code'] },
  };

/** The event names for parts of lists. */
const LISTS = {
  summary: {
    part: 'response.reasoning_summary_part',
    text: 'response.reasoning_summary_text',
    index: 'summary_index',
    write: summaryPart,
  },
  reasoning: {
    part: 'response.content_part',
    text: 'response.reasoning_text',
    index: 'content_index',
    write: reasoningPart,
  },
} as const;
type ListName = keyof typeof LISTS;

/** Emits the frames of one item. */
export class ItemRenderer {
  readonly #head: Produced;
  readonly #type: string;
  readonly #outputIndex: number;
  readonly #meta: ResponseMeta;
  readonly #emit: Emit;
  readonly #place: Payload;
  #hasText = false;
  #hasRefusal = false;
  #annotations = 0;
  /** True if the end needs no input event, because the backend sent one or there was no input. */
  #isInputSent: boolean;
  /** The open part of each list: its index and its text so far. */
  readonly #parts = new Map<ListName, { readonly index: number; text: string }>();

  constructor(head: Produced, outputIndex: number, meta: ResponseMeta, emit: Emit) {
    this.#head = head;
    this.#type = projectItem(head, meta).type;
    this.#outputIndex = outputIndex;
    this.#meta = meta;
    this.#emit = emit;
    this.#place = { item_id: head.id, output_index: outputIndex };
    this.#isInputSent = head.kind === 'hosted-call';
  }

  start(): void {
    const item = projectItem(this.#head, this.#meta, true);
    this.#emit('response.output_item.added', { output_index: this.#outputIndex, item });
  }

  delta(event: ItemDelta): void {
    const { at, delta } = event;
    switch (at) {
      case 'text':
        this.#text(event);
        return;
      case 'refusal':
        this.#openRefusal();
        this.#emit('response.refusal.delta', { ...this.#refusalPlace(), delta });
        return;
      case 'input': {
        const row = INPUT_EVENTS[this.#type];
        this.#isInputSent = false;
        if (row !== undefined) this.#emit(`response.${row.name}.delta`, { ...this.#place, delta });
        return;
      }
      case 'output':
        // The API has no event for it; the ended item contains it.
        return;
      default:
        this.#listDelta(at, delta);
    }
  }

  status({ status, of = this.#type, more = {} }: ItemStatusChanged): void {
    if (status === 'done' && of === INPUT_EVENTS[this.#type]?.name) this.#isInputSent = true;
    this.#emit(`response.${of}.${status}`, { ...more, ...this.#place });
  }

  end(ended: Produced): void {
    const item = projectItem(ended, this.#meta);
    if (ended.kind === 'message') for (const part of ended.parts) this.#closePart(part);
    this.#closeList('summary');
    this.#closeList('reasoning');
    const row = INPUT_EVENTS[this.#type];
    if (row !== undefined && !this.#isInputSent) {
      const fields = Object.entries(item).filter(([name]) => row.fields.includes(name));
      this.#emit(`response.${row.name}.done`, { ...this.#place, ...Object.fromEntries(fields) });
    }
    this.#emit('response.output_item.done', { output_index: this.#outputIndex, item });
  }

  #text({ delta, logprobs = [], annotation }: ItemDelta): void {
    // Empty: no part is opened.
    if (delta === '' && logprobs.length === 0 && annotation === undefined) return;
    if (!this.#hasText) this.#openText();
    const place = { ...this.#place, content_index: 0 };
    if (delta !== '' || logprobs.length > 0) {
      this.#emit('response.output_text.delta', { ...place, delta, logprobs });
    }
    if (annotation === undefined) return;
    this.#emit('response.output_text.annotation.added', {
      ...place,
      annotation_index: this.#annotations,
      annotation,
    });
    this.#annotations += 1;
  }

  #openText(): void {
    this.#hasText = true;
    this.#emit('response.content_part.added', { ...this.#place, content_index: 0, part: textPart('') });
  }

  #openRefusal(): void {
    if (this.#hasRefusal) return;
    this.#hasRefusal = true;
    this.#emit('response.content_part.added', { ...this.#refusalPlace(), part: refusalPart('') });
  }

  /** A refusal follows the text, if there is any. */
  #refusalPlace(): Payload {
    return { ...this.#place, content_index: this.#hasText ? 1 : 0 };
  }

  #closePart(part: Part): void {
    switch (part.kind) {
      case 'text': {
        if (!this.#hasText) this.#openText();
        const { text, annotations, logprobs = [] } = part;
        const place = { ...this.#place, content_index: 0 };
        this.#emit('response.output_text.done', { ...place, text, logprobs });
        const written = textPart(text, annotations, logprobs);
        this.#emit('response.content_part.done', { ...place, part: written });
        return;
      }
      case 'refusal': {
        this.#openRefusal();
        const place = this.#refusalPlace();
        this.#emit('response.refusal.done', { ...place, refusal: part.text });
        this.#emit('response.content_part.done', { ...place, part: refusalPart(part.text) });
        return;
      }
      case 'image':
      case 'audio':
      case 'file':
        return;
      default:
        assertNever(part);
    }
  }

  #listDelta({ list, index }: Exclude<Slot, string>, delta: string): void {
    const { part, text, index: indexName, write } = LISTS[list];
    const place = { ...this.#place, [indexName]: index };
    if (this.#parts.get(list)?.index !== index) {
      this.#closeList(list);
      this.#parts.set(list, { index, text: '' });
      this.#emit(`${part}.added`, { ...place, part: write('') });
    }
    const open = this.#parts.get(list);
    // An empty delta only opens the part.
    if (delta === '' || open === undefined) return;
    open.text += delta;
    this.#emit(`${text}.delta`, { ...place, delta });
  }

  #closeList(list: ListName): void {
    const open = this.#parts.get(list);
    if (open === undefined) return;
    this.#parts.delete(list);
    const { part, text, index: indexName, write } = LISTS[list];
    const place = { ...this.#place, [indexName]: open.index };
    this.#emit(`${text}.done`, { ...place, text: open.text });
    this.#emit(`${part}.done`, { ...place, part: write(open.text) });
  }
}
