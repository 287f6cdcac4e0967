import { apiError, detail, firstAnswer } from './rule.ts';
import type { Carrier, Rule } from './rule.ts';

export const WEBSOCKET_BETA = 'responses_websockets=2026-02-06';

/** codex sends these with a POST only. A frame says the last two in its `client_metadata`. */
const POST_ONLY = [
  'accept',
  'accept-encoding',
  'content-type',
  'content-encoding',
  'content-length',
  'x-openai-internal-codex-responses-lite',
  'x-codex-turn-state',
];

const UPGRADE: readonly Carrier[] = ['upgrade'];
const FRAME: readonly Carrier[] = ['frame'];

/** The request that opens a socket. */
export const UPGRADE_RULES: readonly Rule[] = [
  {
    id: 'upgrade.openai-beta',
    confidence: 'A',
    requestFormat: 'both',
    on: UPGRADE,
    breaks: ({ headers }) =>
      headers['openai-beta'] === WEBSOCKET_BETA ? null : detail('Unsupported value of OpenAI-Beta'),
  },
  {
    id: 'upgrade.post-only',
    confidence: 'A',
    requestFormat: 'both',
    on: UPGRADE,
    breaks: ({ headers }) =>
      firstAnswer(POST_ONLY, (name) => (headers[name] === undefined ? null : 'counted')),
  },
  {
    id: 'upgrade.originator',
    confidence: 'B',
    requestFormat: 'both',
    on: UPGRADE,
    breaks: ({ headers }) => ((headers['originator'] ?? '') === '' ? 'counted' : null),
  },
  {
    id: 'upgrade.x-client-request-id',
    confidence: 'C',
    requestFormat: 'both',
    on: UPGRADE,
    // The thread of a review has the session of another.
    breaks: ({ headers }) =>
      [headers['session-id'], headers['thread-id']].includes(String(headers['x-client-request-id']))
        ? null
        : 'counted',
  },
];

/** What a message needs besides what a POST's body needs. */
export const FRAME_RULES: readonly Rule[] = [
  {
    id: 'frame.type',
    confidence: 'A',
    requestFormat: 'both',
    on: FRAME,
    breaks: ({ frame }) =>
      frame?.type === 'response.create'
        ? null
        : apiError(
            `Invalid value: ${JSON.stringify(frame?.type)}. Supported values are: 'response.create'.`,
            {
              param: 'type',
              code: 'invalid_value',
            },
          ),
  },
  {
    id: 'frame.one-at-a-time',
    confidence: 'A',
    requestFormat: 'both',
    on: FRAME,
    breaks: ({ frame }) => (frame?.isEarly === true ? 'counted' : null),
  },
  {
    id: 'frame.previous_response_id',
    confidence: 'A',
    requestFormat: 'both',
    on: FRAME,
    onlyFoundByTrying: true,
    breaks: ({ frame }) =>
      frame?.continuesKnown === false
        ? apiError('Previous response not found.', {
            param: 'previous_response_id',
            code: 'previous_response_not_found',
          })
        : null,
  },
  {
    id: 'frame.start-ms',
    confidence: 'C',
    requestFormat: 'both',
    on: FRAME,
    breaks: ({ frame }) =>
      typeof frame?.startMs === 'string' && /^\d{13}$/.test(frame.startMs) ? null : 'counted',
  },
];
