import { Accumulator } from '../../../canonical/events/accumulate.ts';
import type { TurnEnded, TurnEvent } from '../../../canonical/events/turn-event.ts';
import { assertNever } from '../../../kit/assert-never.ts';
import { errorBody } from '../../shared/error-body.ts';
import { DONE, usageNote } from '../../shared/sse.ts';
import type { Frame } from '../../../turns/api.ts';
import { ItemRenderer, type FrameParts } from './item-frames.ts';
import { projectReply, projectStarted, type ResponseMeta } from './project.ts';

/** Renders turn events as OpenAI's typed stream. The last response object is folded from the same events. */
export async function* renderResponse(
  events: AsyncIterable<TurnEvent>,
  meta: ResponseMeta,
): AsyncGenerator<Frame> {
  const renderer = new ResponseRenderer(meta);
  yield* renderer.begin();
  for await (const event of events) yield* renderer.next(event);
}

class ResponseRenderer {
  readonly #meta: ResponseMeta;
  readonly #all = new Accumulator();
  readonly #open = new Map<string, ItemRenderer>();
  #sequence = 0;

  constructor(meta: ResponseMeta) {
    this.#meta = meta;
  }

  *begin(): Generator<Frame> {
    const response = projectStarted(this.#meta);
    yield this.#frame(['response.created', { response }]);
    yield this.#frame(['response.in_progress', { response }]);
  }

  *next(event: TurnEvent): Generator<Frame> {
    this.#all.add(event);
    switch (event.type) {
      case 'turn-accepted':
        return;
      case 'item-started': {
        const { item } = event;
        const renderer = new ItemRenderer(item, this.#all.indexOf(item.id), this.#meta);
        this.#open.set(item.id, renderer);
        yield* this.#frames(renderer.start());
        return;
      }
      case 'item-delta':
        yield* this.#frames(this.#open.get(event.itemId)?.delta(event) ?? []);
        return;
      case 'item-status':
        yield* this.#frames(this.#open.get(event.itemId)?.status(event) ?? []);
        return;
      case 'item-ended':
        yield* this.#frames(this.#open.get(event.item.id)?.end(event.item) ?? []);
        this.#open.delete(event.item.id);
        return;
      case 'turn-ended':
        for (const payload of this.#end(event)) yield { ...this.#frame(payload), ...usageNote([event]) };
        yield { event: 'done', data: DONE };
        return;
      default:
        assertNever(event);
    }
  }

  *#end({ outcome }: TurnEnded): Generator<FrameParts> {
    const response = projectReply(this.#all.reply(), this.#meta);
    if (outcome.kind === 'failed') {
      // Some clients read only the nested form, others only the flat one.
      const { error } = errorBody(outcome.failure);
      yield ['error', { code: error.code, message: error.message, param: error.param, error }];
      yield ['response.failed', { response }];
    } else if (outcome.kind === 'incomplete') {
      yield ['response.incomplete', { response }];
    } else {
      yield ['response.completed', { response }];
    }
  }

  *#frames(all: Iterable<FrameParts>): Generator<Frame> {
    for (const payload of all) yield this.#frame(payload);
  }

  #frame([type, payload]: FrameParts): Frame {
    const data = { type, sequence_number: this.#sequence, ...payload };
    this.#sequence += 1;
    return { event: type, data };
  }
}
