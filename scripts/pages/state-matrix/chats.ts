import type { StateArea } from './row.ts';

const CHATS = 'test/conformance/stored-chats.test.ts';

export const CHATS_AREA: StateArea = {
  title: 'Stored chat completions',
  rows: [
    {
      openai: 'A chat completion is stored only with `store: true`.',
      ours: 'same',
      tests: {
        [CHATS]: [
          'is only stored if the client asks: %j',
          'is stored before the end of a stream is shown, with all choices',
        ],
      },
    },
    {
      openai: 'It is retrieved, updated (`metadata`) and deleted.',
      ours: 'same',
      tests: {
        [CHATS]: ['is retrieved, updated and deleted', 'has limits of metadata', 'belongs to its key'],
      },
    },
    {
      openai: 'The list goes from the oldest to the newest, and can be filtered by `model` and `metadata`.',
      ours: 'same',
      tests: { [CHATS]: ['is in the order of creation, and can be filtered', 'cannot be read with %s'] },
    },
    {
      openai: '`/messages` lists the messages of the request.',
      ours: 'same',
      tests: {
        [CHATS]: ['are those of the request', 'are matched by the schema if an assistant wrote them'],
      },
    },
  ],
};
