import type { StateArea } from './row.ts';

const OBJECTS = 'test/conformance/conversations.test.ts';
const RESPONSES = 'test/conformance/conversation-responses.test.ts';
const WRITERS = 'test/conformance/conversation-writers.test.ts';

export const CONVERSATIONS: StateArea = {
  title: 'Conversations',
  rows: [
    {
      openai: 'Conversations are created (with up to 20 items), retrieved, updated and deleted.',
      ours: 'same',
      tests: {
        [OBJECTS]: [
          'is created, retrieved, updated and deleted',
          'needs no body, and may begin with items',
          'has limits',
          'belongs to its key',
        ],
      },
    },
    {
      openai: 'Items are added, listed, retrieved and deleted.',
      ours: 'same',
      tests: {
        [OBJECTS]: [
          'are added, read and deleted one by one',
          'are listed from the newest to the oldest, page by page',
          'are shown with the fields that a request asks for',
          'may be references, calls and outputs',
        ],
        'test/laws/conversation-pages.test.ts': ['are paged like a list'],
      },
    },
    {
      openai:
        'A response with `conversation` reads all items, and adds its input and output when it is complete.',
      ours: 'same',
      tests: {
        [RESPONSES]: [
          'reads its items, and adds its input and output',
          'adds to it when a stream has ended, before its end is shown',
          'runs tools over several turns',
          'adds an incomplete answer',
          'adds nothing if it fails',
          'adds nothing if its client leaves',
        ],
      },
    },
    {
      openai: 'With `store: false` the conversation grows, and the response is not found.',
      ours: 'same',
      tests: { [RESPONSES]: ['adds to it with store: false, and is not found itself'] },
    },
    {
      openai: '`conversation` and `previous_response_id` exclude each other.',
      ours: 'same',
      tests: { [RESPONSES]: ['cannot have a previous response too'] },
    },
    {
      openai: 'A conversation that another request writes to is a 400 `conversation_locked`.',
      ours: 'more',
      how: 'Requests take turns. The error comes only after `PROXY_CONVERSATION_WAIT_MS`.',
      tests: {
        [WRITERS]: [
          'adds each of 50 answers once, one after the other',
          'refuses writers that wait too long, and lets readers read',
        ],
      },
    },
    {
      openai: 'Deleting a conversation does not delete its items.',
      ours: 'same',
      how: 'Its responses stay, and can be continued by `previous_response_id`, which does not change the conversation.',
      tests: { [RESPONSES]: ['can be continued by itself, which does not change the conversation'] },
    },
    {
      openai: 'Conversations outlive a failure of a server.',
      ours: 'same',
      how: 'Also with several instances on one PostgreSQL.',
      tests: {
        'test/faults/killed-writer.test.ts': ['leaves a conversation that goes on after a restart'],
        'test/conformance/conversation-instances.test.ts': ['adds each answer once, one after the other'],
        'test/contracts/conversation-state.test.ts': [
          'gets every turn of writers that do not know of each other, because a lease was lost',
        ],
      },
    },
    {
      openai: 'Items of a conversation have no time limit.',
      ours: 'differs',
      how: 'A conversation lives for `PROXY_STORE_TTL_DAYS` after the last time that something was written to it.',
      tests: {
        'test/contracts/conversation-state.test.ts': [
          'lives from the last time that something was written to it',
        ],
      },
    },
    {
      openai: 'The Agents SDK keeps its sessions in conversations.',
      ours: 'same',
      tests: {
        'test/clients/agents-sessions.test.ts': [
          'keeps a session over several runs',
          'continues a conversation by its id',
        ],
      },
    },
  ],
};
