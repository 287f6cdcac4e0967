import type { StateArea } from './row.ts';

const BACKGROUND = 'test/conformance/background.test.ts';
const RESTARTS = 'test/conformance/background-restarts.test.ts';
const INSTANCES = 'test/conformance/background-instances.test.ts';

export const BACKGROUND_AREA: StateArea = {
  title: 'Background responses',
  rows: [
    {
      openai:
        '`background: true` is answered at once; the response runs without a client and can be polled in each state.',
      ours: 'same',
      tests: {
        [BACKGROUND]: [
          'is queued at once, runs without a client, and is found in each state',
          'goes on when the client that polls it leaves',
          'that fails says so itself: only invalid requests are HTTP errors',
        ],
      },
    },
    {
      openai:
        '`/cancel` stops the model and answers with the response. Of one that has ended it changes nothing.',
      ours: 'same',
      tests: {
        [BACKGROUND]: [
          'stops the model, and answers with the response',
          'leaves a response that has ended as it is',
        ],
      },
    },
    {
      openai: 'Only background responses can be cancelled.',
      ours: 'same',
      tests: { [BACKGROUND]: ['refuses what was not started in the background, and what is unknown'] },
    },
    {
      openai: 'With `store: false` a background response is kept for about ten minutes.',
      ours: 'same',
      tests: { [BACKGROUND]: ['with store: false is found for a while, but cannot be continued'] },
    },
    {
      openai: 'A background response can be continued when it has ended.',
      ours: 'same',
      tests: { [BACKGROUND]: ['can be continued when it has ended, not before'] },
    },
    {
      openai: 'Background responses may be queued.',
      ours: 'same',
      how: 'They come after other requests, and have a limit (429 `background_limit`).',
      tests: { [BACKGROUND]: ['wait while others run, up to a limit'] },
    },
    {
      openai: 'What happens to a running response when a server stops is not described.',
      ours: 'more',
      how: 'It is `failed` with `server_error`, or runs again with `PROXY_BACKGROUND_RESUME=on`.',
      tests: {
        [RESTARTS]: [
          'that still run when the server stops have failed, and say so after a restart',
          'that still run when the server stops run again after a restart, if they should',
          'that end in time are waited for when the server stops',
        ],
      },
    },
    {
      openai: 'A response is the same wherever it is asked for.',
      ours: 'same',
      how: 'Instances on one PostgreSQL poll, stream, cancel and delete each other’s background responses.',
      tests: {
        [INSTANCES]: [
          'is polled, streamed and continued on another instance',
          'is cancelled on another instance: its model stops, and its streams end',
          'is deleted on another instance, and stops',
        ],
      },
    },
  ],
};
