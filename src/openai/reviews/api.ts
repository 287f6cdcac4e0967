import { projectReview, renderReview, type ReviewMeta } from './answer.ts';
import { changesIn, withDiff } from './changes.ts';
import { reviewToTurn } from './to-turn.ts';
import type { Api } from '../../turns/api.ts';
import { openaiErrors } from '../shared/error-body.ts';
import { commonFields, type ReadBody } from '../../apis/common-fields.ts';

export interface ReviewsOptions {
  readonly usagePolicy: ReviewMeta['usagePolicy'];
}

/** codex's reviewer. It is a normal turn: it waits for a slot, and is interrupted when its client disconnects. */
export const reviewsApi = (options: ReviewsOptions): Api<ReadBody, ReviewMeta> => ({
  path: '/v1/codex/reviews',
  async spellOut(body, { onBytes, readChanges }) {
    const changes = changesIn(body);
    if (changes === null) return body;
    const diff = await readChanges(changes);
    onBytes(diff.length);
    return withDiff(body, changes, diff);
  },
  parse: (body, { models }) => reviewToTurn(body, models),
  toTurn: (read, _, { headers, ambient }) => ({
    ...commonFields(read, headers),
    formatPlace: 'input',
    arrange: (events) => events,
    meta: {
      id: ambient.ids.mint('review'),
      createdAt: Math.floor(ambient.clock.now() / 1000),
      model: read.parsed.model,
      usagePolicy: options.usagePolicy,
    },
  }),
  errors: openaiErrors,
  render: (meta, [events]) => renderReview(events, meta),
  project: (meta, [reply]) => projectReview(reply, meta),
});
