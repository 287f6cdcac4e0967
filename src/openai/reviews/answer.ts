import { Accumulator, type Reply } from '../../canonical/events/accumulate.ts';
import { answerText, isMessage } from '../../canonical/request/item.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { objectsIn, textIn, isJsonObject, jsonObjectWithin, type JsonObject } from '../../kit/json/json.ts';
import { errorBody } from '../shared/error-body.ts';
import { projectUsage, type AnswerMeta } from '../responses/output/project.ts';
import { DONE } from '../../apis/sse.ts';
import type { Frame } from '../../turns/api.ts';

export interface ReviewMeta extends AnswerMeta {
  /** The requested model name. */
  readonly model: string;
}

const begun = ({ id, createdAt, model }: ReviewMeta) => ({
  id,
  object: 'codex.review' as const,
  created_at: createdAt,
  model,
});

export const projectReview = (reply: Reply, meta: ReviewMeta) => {
  const texts = reply.items.filter(isMessage).map(answerText);
  const review = texts.map(readReview).find((one) => one !== null) ?? null;
  return {
    ...begun(meta),
    status: STATUS[reply.outcome.kind],
    // Text that does not parse as a review is returned as it is.
    review: review === null ? texts.join('\n\n') : reviewInWords(review),
    findings: review === null ? [] : objectsIn(review, 'findings'),
    overall_correctness: review === null ? null : textIn(review, 'overall_correctness') || null,
    overall_explanation: review === null ? null : textIn(review, 'overall_explanation') || null,
    overall_confidence_score: review?.['overall_confidence_score'] ?? null,
    usage: projectUsage(reply.usage, meta.usagePolicy),
  };
};

const STATUS = {
  completed: 'completed',
  'tool-calls': 'completed',
  incomplete: 'incomplete',
  failed: 'failed',
} as const;

/** Renders the stream. A review can only be parsed when it is complete; until then only progress is sent. */
export async function* renderReview(
  events: AsyncIterable<TurnEvent>,
  meta: ReviewMeta,
): AsyncGenerator<Frame> {
  yield frame('codex.review.created', { review: { ...begun(meta), status: 'in_progress' } });
  const all = new Accumulator();
  for await (const event of events) {
    all.add(event);
    if (event.type !== 'turn-ended') continue;
    const { outcome } = event;
    if (outcome.kind === 'failed') yield frame('error', errorBody(outcome.failure));
    yield frame(outcome.kind === 'failed' ? 'codex.review.failed' : 'codex.review.completed', {
      review: projectReview(all.reply(), meta),
    });
  }
  yield { event: 'done', data: DONE };
}

const frame = (type: string, more: object): Frame => ({ event: type, data: { type, ...more } });

/** Parses the reviewer's JSON; null if it is not a review. */
export const readReview = (text: string): JsonObject | null => {
  const review = jsonObjectWithin(text);
  return review !== null && Array.isArray(review['findings']) ? review : null;
};

/** The review as plain text. */
export const reviewInWords = (review: JsonObject): string => {
  const findings = objectsIn(review, 'findings');
  const explanation = textIn(review, 'overall_explanation');
  const words = findings.map(
    (finding) => `- ${textIn(finding, 'title')}${placeOf(finding)}\n  ${textIn(finding, 'body')}`,
  );
  return [explanation, ...words].filter((part) => part !== '').join('\n\n');
};

const placeOf = ({ code_location: location }: JsonObject): string => {
  if (!isJsonObject(location)) return '';
  const { line_range: range } = location;
  const { start, end } = isJsonObject(range) ? range : {};
  const lines = typeof start === 'number' && typeof end === 'number' ? `:${start}-${end}` : '';
  return ` — ${textIn(location, 'absolute_file_path')}${lines}`;
};
