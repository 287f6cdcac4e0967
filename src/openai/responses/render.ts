import { ReplyBuilder, endedItem } from '../../canonical/reply.ts';
import type { MessageEnded, TurnEnded, TurnEvent } from '../../canonical/turn-event.ts';
import type { Clock } from '../../kit/ambient.ts';
import { assertNever } from '../../kit/assert-never.ts';
import { errorBody } from '../error-body.ts';
import { DONE, type Frame } from '../sse.ts';
import {
  projectItem,
  projectReply,
  projectStarted,
  reasoningPart,
  refusalPart,
  summaryPart,
  textPart,
  type ResponseMeta,
} from './project.ts';

type Payload = Readonly<Record<string, unknown>>;

/** Turn events → OpenAI's typed stream. The last response object is the fold of the same events. */
export async function* renderResponse(
  events: AsyncIterable<TurnEvent>,
  meta: ResponseMeta,
  clock: Clock,
): AsyncGenerator<Frame> {
  const renderer = new ResponseRenderer(meta, clock);
  yield* renderer.begin();
  for await (const event of events) yield* renderer.next(event);
}

/** Parts of an item that are open: which index, and the text so far. */
interface OpenParts {
  index: number;
  text: string;
}

class ResponseRenderer {
  readonly #meta: ResponseMeta;
  readonly #clock: Clock;
  readonly #reply = new ReplyBuilder();
  readonly #openText = new Set<string>();
  readonly #openRefusals = new Set<string>();
  readonly #openSummaries = new Map<string, OpenParts>();
  readonly #openReasoning = new Map<string, OpenParts>();
  #sequence = 0;

  constructor(meta: ResponseMeta, clock: Clock) {
    this.#meta = meta;
    this.#clock = clock;
  }

  *begin(): Generator<Frame> {
    const response = projectStarted(this.#meta);
    yield this.#frame('response.created', { response });
    yield this.#frame('response.in_progress', { response });
  }

  *next(event: TurnEvent): Generator<Frame> {
    this.#reply.add(event);
    switch (event.type) {
      case 'turn-accepted':
        return;
      case 'message-started':
        yield this.#frame('response.output_item.added', {
          output_index: this.#reply.indexOf(event.itemId),
          item: {
            id: event.itemId,
            type: 'message',
            status: 'in_progress',
            role: 'assistant',
            content: [],
            ...(event.phase === null ? {} : { phase: event.phase }),
          },
        });
        return;
      case 'text-delta':
        // Nothing was said, so no part is opened for it.
        if (event.delta === '') return;
        yield* this.#openTextPart(event.itemId);
        yield this.#frame('response.output_text.delta', {
          ...this.#place(event.itemId),
          content_index: 0,
          delta: event.delta,
          logprobs: [],
        });
        return;
      case 'refusal-delta':
        yield* this.#openRefusalPart(event.itemId);
        yield this.#frame('response.refusal.delta', {
          ...this.#refusalPlace(event.itemId),
          delta: event.delta,
        });
        return;
      case 'message-ended':
        yield* this.#closeMessage(event);
        yield this.#itemDone(event);
        return;
      case 'reasoning-started':
        yield this.#frame('response.output_item.added', {
          output_index: this.#reply.indexOf(event.itemId),
          item: { id: event.itemId, type: 'reasoning', summary: [] },
        });
        return;
      case 'reasoning-summary-started':
        yield* this.#openSummary(event.itemId, event.index);
        return;
      case 'reasoning-summary-delta':
        yield* this.#openSummary(event.itemId, event.index);
        yield this.#summaryDelta(event.itemId, event.index, event.delta);
        return;
      case 'reasoning-text-delta':
        yield* this.#openReasoningText(event.itemId, event.index);
        yield this.#reasoningDelta(event.itemId, event.index, event.delta);
        return;
      case 'reasoning-ended':
        yield* this.#closeSummary(event.itemId);
        yield* this.#closeReasoningText(event.itemId);
        yield this.#itemDone(event);
        return;
      case 'call-started':
        yield this.#frame('response.output_item.added', {
          output_index: this.#reply.indexOf(event.itemId),
          item: {
            id: event.itemId,
            type: 'function_call',
            status: 'in_progress',
            call_id: event.callId,
            name: event.name,
            arguments: '',
          },
        });
        return;
      case 'call-delta':
        yield this.#frame('response.function_call_arguments.delta', {
          ...this.#place(event.itemId),
          delta: event.delta,
        });
        return;
      case 'call-ended':
        yield this.#frame('response.function_call_arguments.done', {
          ...this.#place(event.itemId),
          name: event.name,
          arguments: event.arguments,
        });
        yield this.#itemDone(event);
        return;
      case 'carried-item':
        yield this.#frame('response.output_item.added', {
          output_index: this.#reply.indexOf(event.itemId),
          item: { ...event.wire, id: event.itemId },
        });
        yield this.#itemDone(event);
        return;
      case 'turn-ended':
        yield* this.#end(event);
        return;
      default:
        assertNever(event);
    }
  }

  *#end(event: TurnEnded): Generator<Frame> {
    const response = projectReply(this.#reply.build(), this.#meta, Math.floor(this.#clock.now() / 1000));
    if (event.outcome.kind === 'failed') {
      // Some clients read only the nested form, some only the flat one.
      const { error } = errorBody(event.outcome.failure);
      yield this.#frame('error', {
        code: error.code,
        message: error.message,
        param: error.param,
        error,
      });
      yield this.#frame('response.failed', { response });
    } else if (event.outcome.kind === 'incomplete') {
      yield this.#frame('response.incomplete', { response });
    } else {
      yield this.#frame('response.completed', { response });
    }
    yield { event: 'done', data: DONE };
  }

  *#openTextPart(itemId: string): Generator<Frame> {
    if (this.#openText.has(itemId)) return;
    this.#openText.add(itemId);
    yield this.#frame('response.content_part.added', {
      ...this.#place(itemId),
      content_index: 0,
      part: textPart(''),
    });
  }

  *#openRefusalPart(itemId: string): Generator<Frame> {
    if (this.#openRefusals.has(itemId)) return;
    this.#openRefusals.add(itemId);
    yield this.#frame('response.content_part.added', {
      ...this.#refusalPlace(itemId),
      part: refusalPart(''),
    });
  }

  /** A refusal stands behind the text, if there is any. */
  #refusalPlace(itemId: string): Payload {
    return { ...this.#place(itemId), content_index: this.#openText.has(itemId) ? 1 : 0 };
  }

  *#closeMessage(event: MessageEnded): Generator<Frame> {
    const { itemId, text, refusal } = event;
    if (text !== '' || refusal === null) {
      yield* this.#openTextPart(itemId);
      const place = { ...this.#place(itemId), content_index: 0 };
      yield this.#frame('response.output_text.done', { ...place, text, logprobs: event.logprobs });
      yield this.#frame('response.content_part.done', {
        ...place,
        part: textPart(text, event.annotations, event.logprobs),
      });
    }
    if (refusal === null) return;
    yield* this.#openRefusalPart(itemId);
    const place = this.#refusalPlace(itemId);
    yield this.#frame('response.refusal.done', { ...place, refusal });
    yield this.#frame('response.content_part.done', { ...place, part: refusalPart(refusal) });
  }

  *#openSummary(itemId: string, index: number): Generator<Frame> {
    if (this.#openSummaries.get(itemId)?.index === index) return;
    yield* this.#closeSummary(itemId);
    this.#openSummaries.set(itemId, { index, text: '' });
    yield this.#frame('response.reasoning_summary_part.added', {
      ...this.#place(itemId),
      summary_index: index,
      part: summaryPart(''),
    });
  }

  #summaryDelta(itemId: string, index: number, delta: string): Frame {
    const open = this.#openSummaries.get(itemId);
    if (open !== undefined) open.text += delta;
    return this.#frame('response.reasoning_summary_text.delta', {
      ...this.#place(itemId),
      summary_index: index,
      delta,
    });
  }

  *#closeSummary(itemId: string): Generator<Frame> {
    const open = this.#openSummaries.get(itemId);
    if (open === undefined) return;
    this.#openSummaries.delete(itemId);
    const place = { ...this.#place(itemId), summary_index: open.index };
    yield this.#frame('response.reasoning_summary_text.done', { ...place, text: open.text });
    yield this.#frame('response.reasoning_summary_part.done', { ...place, part: summaryPart(open.text) });
  }

  *#openReasoningText(itemId: string, index: number): Generator<Frame> {
    if (this.#openReasoning.get(itemId)?.index === index) return;
    yield* this.#closeReasoningText(itemId);
    this.#openReasoning.set(itemId, { index, text: '' });
    yield this.#frame('response.content_part.added', {
      ...this.#place(itemId),
      content_index: index,
      part: reasoningPart(''),
    });
  }

  #reasoningDelta(itemId: string, index: number, delta: string): Frame {
    const open = this.#openReasoning.get(itemId);
    if (open !== undefined) open.text += delta;
    return this.#frame('response.reasoning_text.delta', {
      ...this.#place(itemId),
      content_index: index,
      delta,
    });
  }

  *#closeReasoningText(itemId: string): Generator<Frame> {
    const open = this.#openReasoning.get(itemId);
    if (open === undefined) return;
    this.#openReasoning.delete(itemId);
    const place = { ...this.#place(itemId), content_index: open.index };
    yield this.#frame('response.reasoning_text.done', { ...place, text: open.text });
    yield this.#frame('response.content_part.done', { ...place, part: reasoningPart(open.text) });
  }

  #itemDone(event: TurnEvent & { readonly itemId: string }): Frame {
    const item = endedItem(event);
    if (item === null) throw new Error(`${event.type} ends no item`);
    return this.#frame('response.output_item.done', {
      output_index: this.#reply.indexOf(event.itemId),
      item: projectItem(item, this.#meta),
    });
  }

  #place(itemId: string): Payload {
    return { item_id: itemId, output_index: this.#reply.indexOf(itemId) };
  }

  #frame(type: string, payload: Payload): Frame {
    const data = { type, sequence_number: this.#sequence, ...payload };
    this.#sequence += 1;
    return { event: type, data };
  }
}
