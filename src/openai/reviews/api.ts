import { projectReview, renderReview, type ReviewMeta } from './answer.ts';
import { toTurnRequest, type ReviewAsk } from './to-turn.ts';
import type { Api, WithReferences } from '../../turns/api.ts';
import { errorBody } from '../shared/error-body.ts';
import { commonFields } from '../shared/common-fields.ts';

export interface ReviewsOptions {
  readonly usagePolicy: ReviewMeta['usagePolicy'];
}

/** codex's reviewer, as a turn like any other: it waits for a place, and it is interrupted when its client goes. */
export const reviewsApi = (options: ReviewsOptions): Api<ParsedBody, ReviewMeta> => ({
  path: '/v1/codex/reviews',
  parse: (body, { models }) => ({ read: toTurnRequest(body, models), references: [] }),
  toTurn: ({ read }, _, { headers, ambient }) => ({
    ...commonFields(read, headers),
    formatPlace: 'input',
    arrange: (events) => events,
    meta: {
      id: ambient.ids.mint('review'),
      createdAt: Math.floor(ambient.clock.now() / 1000),
      model: read.given.model,
      usagePolicy: options.usagePolicy,
    },
  }),
  render: (meta, [events]) => renderReview(events, meta),
  project: (meta, [reply]) => projectReview(reply, meta),
  errorBody,
});

interface ParsedBody extends WithReferences {
  readonly read: ReviewAsk;
}
