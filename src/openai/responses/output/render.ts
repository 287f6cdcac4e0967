import { Accumulator } from '../../../canonical/events/accumulate.ts';
import type { TurnEnded, TurnEvent } from '../../../canonical/events/turn-event.ts';
import { assertNever } from '../../../kit/assert-never.ts';
import { usageNote } from '../../../apis/sse.ts';
import type { Frame } from '../../../turns/api.ts';
import { failedEvents, LAST_FRAME } from './end-frames.ts';
import { ItemRenderer, type Emit } from './item-frames.ts';
import { projectReply, projectStarted, type ResponseMeta } from './project.ts';

/** Renders turn events as OpenAI's typed stream. The last response object is folded from the same events. */
export async function* renderResponse(
  events: AsyncIterable<TurnEvent>,
  meta: ResponseMeta,
): AsyncGenerator<Frame> {
  const renderer = new ResponseRenderer(meta);
  // Not `yield*`, which would wait for each frame.
  for (const frame of renderer.begin()) yield frame;
  for await (const event of events) {
    for (const frame of renderer.next(event)) yield frame;
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
    this.#all.add(event);
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
