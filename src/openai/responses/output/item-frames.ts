import type { Part, Produced, Slot } from '../../../canonical/request/item.ts';
import type { ItemDelta, ItemStatusChanged } from '../../../canonical/events/turn-event.ts';
import { assertNever } from '../../../kit/assert-never.ts';
import {
  projectItem,
  reasoningPart,
  refusalPart,
  summaryPart,
  textPart,
  type ResponseMeta,
} from './project.ts';

type Payload = Readonly<Record<string, unknown>>;
/** Takes a frame: its type and its other fields. */
export type Emit = (type: string, payload: Payload) => void;

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
    this.#openText();
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
    if (this.#hasText) return;
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
        this.#openText();
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
