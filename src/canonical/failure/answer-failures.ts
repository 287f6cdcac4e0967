import { TYPES, type CatalogueEntry } from './failure-row.ts';

/** The rows of the catalogue for a model that answers, but not as it should. */
export const ANSWER_FAILURES = {
  model_request_limit_exceeded: {
    // Clients try 5xx again by themselves, and would spend the same once more.
    status: 400,
    type: TYPES.invalid,
    message: 'The model was asked too often for one answer.',
    when: 'an answer took `PROXY_MAX_MODEL_REQUESTS` model requests and the model has produced nothing yet; with something produced the answer is incomplete, `incomplete_details.reason` is `max_model_requests`, and in Chat `finish_reason` is `length`',
  },
  too_many_output_items: {
    status: 502,
    type: TYPES.server,
    message: 'The answer of the upstream has too many output items.',
    when: 'the backend sent more output items in one answer than this server takes',
    // It would take as long once more.
    final: true,
  },
  tool_choice_not_satisfied: {
    status: 502,
    type: TYPES.server,
    message: "The model did not make the call that 'tool_choice' asks for, though it was told to twice.",
    when: 'two answers of the model hold no call of a tool that `tool_choice` forces',
    // It has been asked again already.
    final: true,
  },
  image_not_generated: {
    status: 502,
    type: TYPES.server,
    message: 'The model answered without an image.',
    when: 'an image was asked for and the model only wrote something; the message says what',
    // It costs as much as the first time, and says the same.
    final: true,
  },
} as const satisfies Record<string, CatalogueEntry>;
