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
/** The type of a frame, and what it says besides. */
export type Told = readonly [type: string, payload: Payload];

/** By the type of an item: what the events about its input are called, and which fields their end repeats. */
const INPUT_EVENTS: Readonly<Record<string, { readonly name: string; readonly fields: readonly string[] }>> =
  {
    function_call: { name: 'function_call_arguments', fields: ['name', 'arguments'] },
    custom_tool_call: { name: 'custom_tool_call_input', fields: ['input'] },
    mcp_call: { name: 'mcp_call_arguments', fields: ['arguments'] },
    code_interpreter_call: { name: 'code_interpreter_call_code', fields: ['code'] },
  };

/** How the events about the parts of a list are called. */
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

/** The frames of one item, from its start to its end. */
export class ItemRenderer {
  readonly #head: Produced;
  readonly #type: string;
  readonly #outputIndex: number;
  readonly #meta: ResponseMeta;
  readonly #place: Payload;
  #hasText = false;
  #hasRefusal = false;
  #annotations = 0;
  /** Nothing has to be said at the end about the input: its backend has done so, or runs the tool and had nothing to say. */
  #isInputTold: boolean;
  /** The part of each list that is open: which one, and its text so far. */
  readonly #parts = new Map<ListName, { readonly index: number; text: string }>();

  constructor(head: Produced, outputIndex: number, meta: ResponseMeta) {
    this.#head = head;
    this.#type = projectItem(head, meta).type;
    this.#outputIndex = outputIndex;
    this.#meta = meta;
    this.#place = { item_id: head.id, output_index: outputIndex };
    this.#isInputTold = head.kind === 'hosted-call';
  }

  *start(): Generator<Told> {
    const item = projectItem(this.#head, this.#meta, true);
    yield ['response.output_item.added', { output_index: this.#outputIndex, item }];
  }

  *delta(event: ItemDelta): Generator<Told> {
    const { at, delta } = event;
    switch (at) {
      case 'text':
        yield* this.#text(event);
        return;
      case 'refusal':
        yield* this.#openRefusal();
        yield ['response.refusal.delta', { ...this.#refusalPlace(), delta }];
        return;
      case 'input': {
        const row = INPUT_EVENTS[this.#type];
        this.#isInputTold = false;
        if (row !== undefined) yield [`response.${row.name}.delta`, { ...this.#place, delta }];
        return;
      }
      case 'output':
        // The API has no event for it: it stands in the ended item.
        return;
      default:
        yield* this.#listDelta(at, delta);
    }
  }

  *status({ status, of = this.#type, more = {} }: ItemStatusChanged): Generator<Told> {
    if (status === 'done' && of === INPUT_EVENTS[this.#type]?.name) this.#isInputTold = true;
    yield [`response.${of}.${status}`, { ...more, ...this.#place }];
  }

  *end(ended: Produced): Generator<Told> {
    const item = projectItem(ended, this.#meta);
    if (ended.kind === 'message') for (const part of ended.parts) yield* this.#closePart(part);
    yield* this.#closeList('summary');
    yield* this.#closeList('reasoning');
    const row = INPUT_EVENTS[this.#type];
    if (row !== undefined && !this.#isInputTold) {
      const fields = Object.entries(item).filter(([name]) => row.fields.includes(name));
      yield [`response.${row.name}.done`, { ...this.#place, ...Object.fromEntries(fields) }];
    }
    yield ['response.output_item.done', { output_index: this.#outputIndex, item }];
  }

  *#text({ delta, logprobs = [], annotation }: ItemDelta): Generator<Told> {
    // Nothing was said, so no part is opened for it.
    if (delta === '' && logprobs.length === 0 && annotation === undefined) return;
    yield* this.#openText();
    const place = { ...this.#place, content_index: 0 };
    if (delta !== '' || logprobs.length > 0) {
      yield ['response.output_text.delta', { ...place, delta, logprobs }];
    }
    if (annotation === undefined) return;
    yield [
      'response.output_text.annotation.added',
      { ...place, annotation_index: this.#annotations, annotation },
    ];
    this.#annotations += 1;
  }

  *#openText(): Generator<Told> {
    if (this.#hasText) return;
    this.#hasText = true;
    yield ['response.content_part.added', { ...this.#place, content_index: 0, part: textPart('') }];
  }

  *#openRefusal(): Generator<Told> {
    if (this.#hasRefusal) return;
    this.#hasRefusal = true;
    yield ['response.content_part.added', { ...this.#refusalPlace(), part: refusalPart('') }];
  }

  /** A refusal stands behind the text, if there is any. */
  #refusalPlace(): Payload {
    return { ...this.#place, content_index: this.#hasText ? 1 : 0 };
  }

  *#closePart(part: Part): Generator<Told> {
    switch (part.kind) {
      case 'text': {
        yield* this.#openText();
        const { text, annotations, logprobs = [] } = part;
        const place = { ...this.#place, content_index: 0 };
        yield ['response.output_text.done', { ...place, text, logprobs }];
        const written = textPart(text, annotations, logprobs);
        yield ['response.content_part.done', { ...place, part: written }];
        return;
      }
      case 'refusal': {
        yield* this.#openRefusal();
        const place = this.#refusalPlace();
        yield ['response.refusal.done', { ...place, refusal: part.text }];
        yield ['response.content_part.done', { ...place, part: refusalPart(part.text) }];
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

  *#listDelta({ list, index }: Exclude<Slot, string>, delta: string): Generator<Told> {
    const { part, text, index: indexName, write } = LISTS[list];
    const place = { ...this.#place, [indexName]: index };
    if (this.#parts.get(list)?.index !== index) {
      yield* this.#closeList(list);
      this.#parts.set(list, { index, text: '' });
      yield [`${part}.added`, { ...place, part: write('') }];
    }
    const open = this.#parts.get(list);
    // An empty one only opens the part.
    if (delta === '' || open === undefined) return;
    open.text += delta;
    yield [`${text}.delta`, { ...place, delta }];
  }

  *#closeList(list: ListName): Generator<Told> {
    const open = this.#parts.get(list);
    if (open === undefined) return;
    this.#parts.delete(list);
    const { part, text, index: indexName, write } = LISTS[list];
    const place = { ...this.#place, [indexName]: open.index };
    yield [`${text}.done`, { ...place, text: open.text }];
    yield [`${part}.done`, { ...place, part: write(open.text) }];
  }
}
