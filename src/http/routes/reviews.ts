import { projectReview, renderReview, type ReviewMeta } from '../../openai/reviews/answer.ts';
import { toTurnRequest } from '../../openai/reviews/to-turn.ts';
import type { Endpoint } from '../turn/endpoint.ts';
import { commonAsk } from './common-ask.ts';

export interface ReviewsOptions {
  readonly usagePolicy: ReviewMeta['usagePolicy'];
}

/** codex's reviewer, as a turn like any other: it waits for a place, and it is interrupted when its client goes. */
export const reviewsEndpoint = (options: ReviewsOptions): Endpoint => ({
  path: '/v1/codex/reviews',
  read(body, { headers, ambient, models }) {
    const read = toTurnRequest(body, models);
    const meta: ReviewMeta = {
      id: ambient.ids.mint('review'),
      createdAt: Math.floor(ambient.clock.now() / 1000),
      model: read.given.model,
      usagePolicy: options.usagePolicy,
    };
    return {
      ...commonAsk(read, headers),
      formatPlace: 'input',
      arrange: (events) => events,
      render: ([events]) => renderReview(events, meta),
      project: ([reply]) => projectReview(reply, meta),
    };
  },
});
