import { row } from '../../canonical/failure/catalogue-row.ts';
import { featureErrors, type FeatureFailures } from '../../canonical/failure/failure.ts';

/** Errors of stored and background responses, of conversations and of stored chat completions. */
export const STATE_FAILURES = {
  unknown_response: row(
    404,
    'This response was not found.',
    'the response is unknown, deleted, expired, belongs to another key, was not stored, or still runs in the foreground',
    { codeless: true, after: 'response_not_found' },
  ),
  not_cancellable: row(
    400,
    'Cannot cancel a synchronous response.',
    'cancelling a response that was not created with `background: true`',
    { codeless: true },
  ),
  unknown_conversation: row(
    404,
    'This conversation was not found.',
    'the conversation is unknown, deleted, expired, or belongs to another key',
    { codeless: true },
  ),
  unknown_chat_completion: row(
    404,
    'This chat completion was not found.',
    'the chat completion is unknown, deleted, expired, belongs to another key, or was not created with `store: true`',
    { codeless: true },
  ),
  previous_response_not_found: row(
    400,
    'The previous response was not found.',
    'the response in `previous_response_id` is unknown, deleted, expired, belongs to another key, or was not stored',
    { after: 'request_not_replayable' },
  ),
  thread_not_found: row(
    404,
    'This thread was not found.',
    'the message in `thread.previous_message_id` is unknown, expired, belongs to another key, or was not stored: send the whole conversation',
  ),
  conversation_locked: row(
    400,
    'Another process is currently operating on this conversation. Please retry in a few seconds.',
    'other requests have been writing to the same conversation for longer than this one waits',
    { after: 'thread_unsupported_request' },
  ),
  background_limit: row(
    429,
    'Too many background responses are waiting or running. Please try again later.',
    '`PROXY_MAX_BACKGROUND_RESPONSES` is reached, or the share of the key in it, or the requests of background responses are too large in total',
    { source: 'server' },
  ),
} as const satisfies FeatureFailures;

export const stateError = featureErrors(STATE_FAILURES);
