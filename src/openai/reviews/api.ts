import { projectReview, renderReview, type ReviewMeta } from './answer.ts';
import { toTurnRequest } from './to-turn.ts';
import type { Api } from '../../turns/api.ts';
import { commonFields } from '../shared/common-fields.ts';

export interface ReviewsOptions {
  readonly usagePolicy: ReviewMeta['usagePolicy'];
}

/** codex's reviewer, as a turn like any other: it waits for a place, and it is interrupted when its client goes. */
export const reviewsApi = (options: ReviewsOptions): Api => ({
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
      ...commonFields(read, headers),
      formatPlace: 'input',
      arrange: (events) => events,
      render: ([events]) => renderReview(events, meta),
      project: ([reply]) => projectReview(reply, meta),
    };
  },
});
