import { TYPES, type CatalogueEntry } from './failure-row.ts';

/** Catalogue rows for invalid answers of the model. */
export const ANSWER_FAILURES = {
  model_request_limit_exceeded: {
    // Clients retry 5xx automatically, which would cost the same again.
    status: 400,
    type: TYPES.invalid,
    message: 'The answer needed too many model requests.',
    when: 'an answer reached `PROXY_MAX_MODEL_REQUESTS` before the model produced anything; otherwise the answer is incomplete, `incomplete_details.reason` is `max_model_requests`, and in Chat `finish_reason` is `length`',
  },
  too_many_output_items: {
    status: 502,
    type: TYPES.server,
    message: 'The answer of the upstream has too many output items.',
    when: 'the backend sent more output items in one answer than this server accepts',
    // A retry would take just as long.
    final: true,
  },
  tool_choice_not_satisfied: {
    status: 502,
    type: TYPES.server,
    message: "The model did not make the tool call that 'tool_choice' requires, in two attempts.",
    when: 'two answers of the model lack the tool call that `tool_choice` forces',
    // This server has already retried.
    final: true,
  },
  image_not_generated: {
    status: 502,
    type: TYPES.server,
    message: 'The model answered without an image.',
    when: 'the model answered an image request with text only; the message quotes it',
    // A retry would cost the same and most likely have the same result.
    final: true,
  },
} as const satisfies Record<string, CatalogueEntry>;
