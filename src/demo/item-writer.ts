import type { IdSource } from '../kit/ambient.ts';
import type { JsonObject } from '../kit/json/json.ts';
import { encodeEvent, type ModelConnection, type ModelEvent } from './connection.ts';
import {
  deltasOf,
  type CallStep,
  type ItemEnd,
  type ItemStep,
  type Pace,
  type ReasoningStep,
  type RefusalStep,
  type TextStep,
} from './script-step.ts';

/** Number of deltas written before waiting for the socket to drain. */
const DELTAS_PER_FLUSH = 256;

interface EventPosition extends JsonObject {
  readonly item_id: string;
  readonly output_index: number;
}

const textPart = (text: string, annotations: readonly JsonObject[] = []): JsonObject => ({
  type: 'output_text',
  annotations,
  logprobs: [],
  text,
});
const refusalPart = (refusal: string): JsonObject => ({ type: 'refusal', refusal });
const summaryPart = (text: string): JsonObject => ({ type: 'summary_text', text });
const reasoningPart = (text: string): JsonObject => ({ type: 'reasoning_text', text });

/** Names on the wire for each kind of tool call. */
const CALL_FORMS = {
  function: { type: 'function_call', prefix: 'fc', field: 'arguments', events: 'function_call_arguments' },
  custom: { type: 'custom_tool_call', prefix: 'ctc', field: 'input', events: 'custom_tool_call_input' },
} as const;

/** Writes output items as event sequences, numbers the events, and collects the finished items. */
export class ItemWriter {
  readonly output: JsonObject[] = [];
  readonly #connection: ModelConnection;
  readonly #ids: IdSource;
  readonly #delayMs: number | null;
  #sequence = 0;
  #started = 0;

  constructor(connection: ModelConnection, ids: IdSource, delayMs: number | null) {
    this.#connection = connection;
    this.#ids = ids;
    this.#delayMs = delayMs;
  }

  event(event: ModelEvent): void {
    this.#connection.write(encodeEvent({ ...event, sequence_number: this.#sequence++ }));
  }

  async text(step: TextStep): Promise<void> {
    const item = this.#message(step);
    const at = { ...this.#added(item('in_progress', [])), content_index: 0 };
    this.event({ type: 'response.content_part.added', ...at, part: textPart('') });
    await this.#deltas('response.output_text.delta', { ...at, logprobs: [] }, step.text, step);
    const annotations = step.annotations ?? [];
    for (const [index, annotation] of annotations.entries())
      this.event({
        type: 'response.output_text.annotation.added',
        ...at,
        annotation_index: index,
        annotation,
      });
    if (step.end === 'open') return;
    this.event({ type: 'response.output_text.done', ...at, text: step.text, logprobs: [] });
    this.event({ type: 'response.content_part.done', ...at, part: textPart(step.text, annotations) });
    this.#done(at, item(step.end ?? 'completed', [textPart(step.text, annotations)]));
  }

  async refusal(step: RefusalStep): Promise<void> {
    const item = this.#message(step);
    const at = { ...this.#added(item('in_progress', [])), content_index: 0 };
    this.event({ type: 'response.content_part.added', ...at, part: refusalPart('') });
    await this.#deltas('response.refusal.delta', at, step.refusal, step);
    this.event({ type: 'response.refusal.done', ...at, refusal: step.refusal });
    this.event({ type: 'response.content_part.done', ...at, part: refusalPart(step.refusal) });
    this.#done(at, item('completed', [refusalPart(step.refusal)]));
  }

  async reasoning(step: ReasoningStep): Promise<void> {
    const { summary, encrypted, content } = step.reasoning;
    const bare = { id: step.reasoning.id ?? this.#ids.mint('rs'), type: 'reasoning', summary: [] };
    const at = this.#added(bare);
    for (const [index, text] of summary.entries()) {
      const place = { ...at, summary_index: index };
      this.event({ type: 'response.reasoning_summary_part.added', ...place, part: summaryPart('') });
      await this.#deltas('response.reasoning_summary_text.delta', place, text, step);
      this.event({ type: 'response.reasoning_summary_text.done', ...place, text });
      this.event({ type: 'response.reasoning_summary_part.done', ...place, part: summaryPart(text) });
    }
    for (const [index, text] of (content ?? []).entries()) {
      const place = { ...at, content_index: index };
      this.event({ type: 'response.content_part.added', ...place, part: reasoningPart('') });
      await this.#deltas('response.reasoning_text.delta', place, text, step);
      this.event({ type: 'response.reasoning_text.done', ...place, text });
      this.event({ type: 'response.content_part.done', ...place, part: reasoningPart(text) });
    }
    if (step.end === 'open') return;
    this.#done(at, {
      ...bare,
      ...(step.end === 'incomplete' && { status: step.end }),
      summary: summary.map(summaryPart),
      ...(content !== undefined && { content: content.map(reasoningPart) }),
      ...(encrypted !== undefined && { encrypted_content: encrypted }),
    });
  }

  async call(step: CallStep): Promise<void> {
    const { name, namespace, tool = 'function' } = step.call;
    const form = CALL_FORMS[tool];
    const id = step.call.id ?? this.#ids.mint(form.prefix);
    const callId = step.call.callId ?? this.#ids.mint('call');
    const args =
      typeof step.call.arguments === 'string' ? step.call.arguments : JSON.stringify(step.call.arguments);
    const item = (status: Exclude<ItemEnd, 'open'> | 'in_progress', written: string): ModelEvent => ({
      id,
      type: form.type,
      status,
      [form.field]: written,
      call_id: callId,
      name,
      ...(namespace !== undefined && { namespace }),
    });
    const at = this.#added(item('in_progress', ''));
    await this.#deltas(`response.${form.events}.delta`, at, args, step);
    if (step.end === 'open') return;
    const called = tool === 'function' ? { name } : {};
    this.event({ type: `response.${form.events}.done`, ...at, ...called, [form.field]: args });
    this.#done(at, item(step.end ?? 'completed', args));
  }

  /** Writes an item of any other type. */
  other({ item, initial = item, events = [], end }: ItemStep): void {
    const at = this.#added(initial);
    for (const event of events) this.event({ ...at, ...event });
    if (end !== 'open') this.#done(at, item);
  }

  #message({ id = this.#ids.mint('msg'), phase }: Pick<TextStep, 'id' | 'phase'>) {
    const speaker = { ...(phase !== undefined && { phase }), role: 'assistant' };
    return (status: string, content: readonly JsonObject[]): ModelEvent => ({
      id,
      type: 'message',
      status,
      ...speaker,
      content,
    });
  }

  #added(item: ModelEvent): EventPosition {
    const id = typeof item['id'] === 'string' ? item['id'] : '';
    const place = { item_id: id, output_index: this.#started++ };
    this.event({ type: 'response.output_item.added', output_index: place.output_index, item });
    return place;
  }

  #done(at: EventPosition, item: ModelEvent): void {
    this.event({ type: 'response.output_item.done', output_index: at.output_index, item });
    this.output.push(item);
  }

  async #deltas(type: string, place: JsonObject, text: string, pace: Pace): Promise<void> {
    // The constant part is encoded once: an answer may have tens of thousands of deltas.
    const head = `event: ${type}\ndata: ${JSON.stringify({ type, ...place }).slice(0, -1)},"delta":`;
    const delayMs = pace.delayMs ?? this.#delayMs;
    let unflushed = 0;
    for (const delta of deltasOf(text, pace)) {
      if (this.#connection.closed) return;
      this.#connection.write(
        `${head}${JSON.stringify(delta)},"sequence_number":${String(this.#sequence++)}}\n\n`,
      );
      unflushed += 1;
      if (delayMs !== null) await this.#connection.wait(delayMs);
      else if (unflushed === DELTAS_PER_FLUSH) {
        unflushed = 0;
        await this.#connection.flush();
      }
    }
  }
}
