import { z } from 'zod';

import { gatewayError } from '../../canonical/failure/failure.ts';
import { FAMILY, type ModelNames } from '../../canonical/models/model-names.ts';
import { PLAIN_REQUEST } from '../../canonical/request/turn-request.ts';
import { bodyObject } from '../chat/common.ts';
import type { ReadBody } from '../../apis/common-fields.ts';
import { PLAIN_FORM } from '../shared/read-tools.ts';
import { responsesNames } from '../responses/input/parameters.ts';
import { unreadFields, parseBody } from '../../apis/validation.ts';
import { longText, MAX_ID_CHARS } from '../../apis/bounds.ts';

/** A request to codex's reviewer. This API is our own. */
const createReviewSchema = z.object({
  model: z.string().min(1).max(MAX_ID_CHARS).nullish(),
  instructions: longText.nullish(),
  input: longText.nullish(),
  target: z.object({ type: z.string().max(MAX_ID_CHARS), instructions: longText.nullish() }).nullish(),
  reasoning: z.object({ effort: z.string().min(1).max(MAX_ID_CHARS).nullish() }).nullish(),
  stream: z.boolean().nullish(),
});

type CreateReview = z.output<typeof createReviewSchema>;

export const reviewToTurn = (body: unknown, models: ModelNames): ReadBody => {
  const object = bodyObject(body);
  const parsed = parseBody(createReviewSchema, object);
  const name = parsed.model ?? FAMILY;
  const model = models.resolve(name);
  return {
    parsed: { model: name, stream: parsed.stream ?? false },
    ignored: unreadFields(createReviewSchema, object, ''),
    names: responsesNames({ places: ['input'], placeOf: PLAIN_FORM.placeOf }),
    request: {
      ...PLAIN_REQUEST,
      model: model.model,
      items: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: toReview(parsed) }] }],
      reasoning: { effort: parsed.reasoning?.effort ?? model.effort, summary: null, context: null },
      serviceTier: model.serviceTier,
      isReview: true,
    },
  };
};

/** The instructions, followed by the text to review. */
const toReview = ({ instructions, input, target }: CreateReview): string => {
  if (target !== undefined && target !== null && target.type !== 'custom') {
    throw gatewayError('unsupported_value', {
      param: 'target.type',
      message:
        "Unsupported value: 'target.type' must be 'custom' without a 'workspace': the reviewer has no other working directory. Send the diff as 'input', or name a workspace.",
    });
  }
  const texts = [instructions, target?.instructions, input].filter(
    (text) => typeof text === 'string' && text.trim() !== '',
  );
  if (texts.length > 0) return texts.join('\n\n');
  throw gatewayError('missing_required_parameter', {
    param: 'input',
    message: "Missing required parameter: 'input', or 'instructions': there is nothing to review.",
  });
};
