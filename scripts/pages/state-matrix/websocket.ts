import type { StateArea } from './row.ts';

const MODE = 'test/conformance/websocket.test.ts';
const CONNECTION = 'test/conformance/websocket-connection.test.ts';
const UPGRADE = 'test/conformance/websocket-upgrade.test.ts';
const STEER = 'test/conformance/websocket-steer.test.ts';

export const WEBSOCKET: StateArea = {
  title: 'WebSocket mode',
  rows: [
    {
      openai:
        '`response.create` is answered with the events of a stream, one in each message, numbered for each response.',
      ours: 'same',
      tests: {
        [MODE]: [
          'is answered with the events of a stream, one in each message',
          'may have its type last, and `stream` in either way',
          'is valid by the document of OpenAI',
        ],
      },
    },
    {
      openai: 'The connection remembers its latest responses, also those with `store: false`.',
      ours: 'same',
      tests: {
        [MODE]: [
          'continues a response of the same connection (store: %s)',
          'of an answer that is stored may be one that is not',
          'of another key is unknown',
        ],
      },
    },
    {
      openai: 'A request that fails makes the connection forget the response that it named.',
      ours: 'same',
      tests: {
        [MODE]: ['is forgotten if a request of its lane cannot continue it, and kept for other lanes'],
      },
    },
    {
      openai: '`generate: false` keeps the input and asks no model.',
      ours: 'same',
      tests: { [MODE]: ['keeps the input, and asks no model (store: %s)'] },
    },
    {
      openai: 'Requests with different `stream_id`s run side by side, others one after the other.',
      ours: 'same',
      tests: {
        [CONNECTION]: [
          'run side by side, and each in its order',
          'without names run one after the other',
          'have at most 32 names, and at most 256 requests that wait',
        ],
      },
    },
    {
      openai: '`response.steer` adds input to a running response.',
      ours: 'same',
      tests: {
        [STEER]: [
          'ends a response between two items, and continues it (store: %s)',
          'waits for the outputs of calls, and goes in front of them, in its lane only',
          'gives input back if the response fails, or cannot be continued',
          "the openai package steers, and reads on until the successor's end",
        ],
      },
    },
    {
      openai: 'Errors are events with a status; the connection stays open.',
      ours: 'same',
      tests: { [CONNECTION]: ['(%s) gets an error, and the connection stays open'] },
    },
    {
      openai: 'A connection lasts 60 minutes.',
      ours: 'differs',
      how: 'It also ends after 20 idle minutes (`PROXY_WEBSOCKET_IDLE_TIMEOUT_MS`).',
      tests: {
        [CONNECTION]: [
          'accepts no requests after its time, and closes when the running ones have ended',
          'is closed if it is idle',
          'is pinged, and cut if there is no answer',
        ],
      },
    },
    {
      openai: 'A refused upgrade is an HTTP error.',
      ours: 'same',
      tests: { [UPGRADE]: ['with %j gets %i %s', 'gets 426 if there are no WebSockets'] },
    },
  ],
};
