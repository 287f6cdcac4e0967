import { feature, type FeatureTables } from '../../compose/feature.ts';
import { deployment, tuning } from '../../config/setting-row.ts';
import { MAX_TIMER_MS, oneOf, wholeNumber } from '../../config/value.ts';
import { counter, gauge } from '../../observe/metric-row.ts';
import { STATE_FAILURES } from './failures.ts';
import { STATE_STORE } from './store/state-store.ts';

export const STATE_TABLES = {
  settings: {
    PROXY_ITEM_MEMORY_MB: tuning({
      at: 'api.itemMemoryMb',
      after: 'PROXY_RESPONSES_LAYOUT',
      type: wholeNumber(0, 1_000_000, 'MB'),
      default: '64',
      description:
        'Memory for items of recent responses, kept for one hour, so that a request can refer to them by `item_reference`. 0: off. Items of requests with `store: false` are never kept.',
    }),
    PROXY_CONVERSATION_WAIT_MS: tuning({
      at: 'state.conversationWaitMs',
      after: 'PROXY_STORE_TIMEOUT_MS',
      type: wholeNumber(0, MAX_TIMER_MS, 'ms'),
      default: '10000',
      description:
        'How long a request waits for others that write to the same conversation, before it fails with `conversation_locked`.',
    }),
    PROXY_BACKGROUND_RESUME: deployment({
      at: 'state.backgroundResume',
      type: oneOf(['on', 'off']),
      default: 'off',
      description:
        'What happens to background responses whose server has stopped: they fail with `server_error` (`off`), or run again, at most twice, after a restart or on another server with the same database (`on`). With `on` the body of a background request is stored until its response has ended.',
    }),
    PROXY_MAX_BACKGROUND_RESPONSES: tuning({
      at: 'load.maxBackgroundResponses',
      type: wholeNumber(1, 1_000_000, 'responses'),
      default: '1024',
      description:
        'How many background responses wait and run at the same time. Their request bodies have at most half of `PROXY_MAX_BYTES_IN_FLIGHT_MB`, and a large one counts as several. Further ones get 429, fairly between keys.',
    }),
  },
  failures: STATE_FAILURES,
  metrics: {
    itemBytesRemembered: {
      ...gauge(
        'proxy_item_memory_bytes',
        'Bytes of recent conversations and items, kept in memory for requests that continue them or refer to them.',
      ),
      after: 'bytesRemembered',
    },
    backgroundQueued: {
      ...gauge('proxy_background_queued', 'Background responses of this server that wait.'),
      after: 'turnsQueued',
    },
    backgroundRunning: gauge('proxy_background_running', 'Background responses that run on this server.'),
    streamsNotKept: counter(
      'proxy_streams_not_kept_total',
      'Streams of stored responses that cannot be sent again with `GET`, by reason: `long`, `memory` (too much is being sent), `disk` (too much was kept in the last ten minutes), `store` (it failed).',
      ['reason'],
    ),
    backgroundLost: counter(
      'proxy_background_lost_total',
      'Background responses whose server has stopped, as this server found them: `failed`, or `resumed` (run again).',
      ['result'],
    ),
  },
  routes: {
    'GET /v1/responses/:id': {
      after: 'POST /v1/responses/:id/steer',
      access: 'key',
      about:
        'A stored response: the object that `POST` or the last event of the stream gave. `include` as in the request that creates a response. `stream=true`, `starting_after`: [its events](state.md#background-responses).',
    },
    'DELETE /v1/responses/:id': {
      access: 'key',
      about: 'Deletes a stored response. Responses that continue it stay.',
    },
    'GET /v1/responses/:id/input_items': {
      access: 'key',
      about:
        'What the model read for a stored response: its input, and with `previous_response_id` or `conversation` everything before. `limit`, `order` (default `desc`), `after`, `before`, `include`.',
    },
    'POST /v1/responses/:id/cancel': {
      access: 'key',
      about: 'Stops a background response and answers with it. One that has ended stays as it is.',
    },
    'POST /v1/conversations': {
      access: 'key',
      about:
        'Creates a conversation: `items` (at most 20), `metadata`. A response with `conversation` continues it, and adds its input and output to it.',
    },
    'GET /v1/conversations/:id': { access: 'key', about: 'A conversation and its metadata.' },
    'POST /v1/conversations/:id': { access: 'key', about: 'Replaces the `metadata` of a conversation.' },
    'DELETE /v1/conversations/:id': {
      access: 'key',
      about: 'Deletes a conversation. Its responses stay, and can be continued.',
    },
    'POST /v1/conversations/:id/items': {
      access: 'key',
      about:
        'Adds `items` (at most 20) at the end of a conversation. They are checked like the `input` of a response.',
    },
    'GET /v1/conversations/:id/items': {
      access: 'key',
      about: 'The items of a conversation. `limit`, `order` (default `desc`), `after`, `include`.',
    },
    'GET /v1/conversations/:id/items/:item_id': { access: 'key', about: 'One of them. `include`.' },
    'DELETE /v1/conversations/:id/items/:item_id': {
      access: 'key',
      about:
        'Removes an item from a conversation, and answers with the conversation. The response that wrote the item still shows it.',
    },
    'GET /v1/chat/completions': {
      access: 'key',
      about:
        'The stored chat completions, which were created with `store: true`. `model`, `metadata[key]=value`, `limit`, `order` (default `asc`), `after`.',
    },
    'GET /v1/chat/completions/:id': {
      access: 'key',
      about: 'A stored chat completion, with its `metadata`.',
    },
    'POST /v1/chat/completions/:id': { access: 'key', about: 'Replaces its `metadata`.' },
    'DELETE /v1/chat/completions/:id': { access: 'key', about: 'Deletes it.' },
    'GET /v1/chat/completions/:id/messages': {
      access: 'key',
      about: 'The messages of its request. `limit`, `order` (default `asc`), `after`.',
    },
    'GET /v1/codex/conversations': {
      after: 'POST /v1/codex/logout',
      access: 'key',
      scopes: ['read'],
      about:
        'The stored conversations and chains of responses of all keys, the newest first. `limit`, `after`, `key_id`. See [state](state.md#for-operators).',
    },
    'GET /v1/codex/conversations/:id': {
      access: 'key',
      scopes: ['read'],
      about: 'One of them with its turns. `limit` (of turns), `order` (default `asc`), `after`, `include`.',
    },
    'DELETE /v1/codex/conversations/:id': {
      access: 'key',
      scopes: ['admin'],
      about: 'Deletes it with its responses.',
    },
  },
} as const satisfies FeatureTables;

/** Stored responses, conversations and chat completions, and responses that run without their client. */
export const storedState = feature('state', STATE_TABLES, {
  store: STATE_STORE,
  open: async (...args) => (await import('./open.ts')).openState(...args),
});
