import type { StateArea } from './row.ts';

const FAULTS = 'test/faults/store.test.ts';
const SHARED = 'test/conformance/shared-memory.test.ts';

export const STORE: StateArea = {
  title: 'The store itself',
  rows: [
    {
      openai: 'A failure of the store is not described.',
      ours: 'more',
      how: 'No answer is lost: it is sent, and says that it is not stored. Only requests that need the store fail, with 503 `store_unavailable`.',
      tests: {
        [FAULTS]: [
          'does not lose the answer, which says that it is not stored',
          'is an error of the requests that need it, and of no others: %j',
          'fails only requests that need it, and comes back',
        ],
        'test/faults/unstored-answers.test.ts': [
          'shows a chat completion with a header',
          'ends the stream of a chat completion with a comment',
          'fails a response in a conversation, which would go on without it',
        ],
      },
    },
    {
      openai: 'Zero data retention is a contract.',
      ours: 'more',
      how: '`PROXY_STORE=off` opens no database and writes no content to a file.',
      tests: {
        'test/conformance/store-off.test.ts': ['%s %s is not supported', 'cannot continue %j, and says why'],
        [SHARED]: [
          'has nothing of before if nothing is kept',
          'has no reasoning of a request with store: false',
        ],
      },
    },
    {
      openai: 'Content is encrypted at rest.',
      ours: 'same',
      how: 'If `PROXY_STORE_KEY` is set. Keys can be rotated.',
      tests: {
        'test/contracts/store-turns.test.ts': [
          'are read like others, and nothing of them is readable in the database',
        ],
        'test/contracts/store-content.test.ts': [
          'opens what was written before, and an operator may drop it later',
          'rejects rows that were exchanged',
        ],
      },
    },
    {
      openai: 'Any server answers any request.',
      ours: 'same',
      how: 'All instances that share a PostgreSQL database.',
      tests: {
        'test/contracts/store-instances.test.ts': [
          'see what each other wrote',
          'fork where both continue the same turn',
        ],
        'test/conformance/conversation-instances.test.ts': ['adds each answer once, one after the other'],
      },
    },
    {
      openai: 'The prompt cache stays warm over the turns of a conversation.',
      ours: 'more',
      how: 'Without a hint from the client, over restarts and instances. So does reasoning that a Chat client cannot send back.',
      tests: {
        [SHARED]: [
          'is the same model request as before: cache id, session and reasoning',
          'is the same model request as on the first one',
        ],
      },
    },
  ],
};
