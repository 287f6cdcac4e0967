import type { TurnEvent } from '../../src/canonical/events/turn-event.ts';
import { renderResponse } from '../../src/openai/responses/output/render.ts';
import type { Frame } from '../../src/turns/api.ts';
import { responseMeta } from './response-meta.ts';
import { collect, emit } from './turn-events.ts';

export const rendered = (events: readonly TurnEvent[]): Promise<Frame[]> =>
  collect(renderResponse(emit(events), responseMeta()));
