import { z } from 'zod';

import { unreadFields, parseBody } from '../../apis/validation.ts';
import { bodyObject } from '../chat/common.ts';

const MAX_REASON = 10_000;

const feedbackSchema = z.object({
  classification: z.enum(['bug', 'bad_result', 'good_result', 'other']),
  reason: z.string().max(MAX_REASON).nullish(),
});

/** Parses a user's feedback about an answer. */
export const readFeedback = (body: unknown) => {
  const object = bodyObject(body);
  const { classification, reason } = parseBody(feedbackSchema, object);
  return {
    feedback: { classification, reason: reason ?? null },
    ignored: unreadFields(feedbackSchema, object, ''),
  };
};
