import type { StateArea } from './row.ts';

const STORED = 'test/conformance/stored-responses.test.ts';
const OBJECTS = 'test/conformance/stored-objects.test.ts';
const LAW = 'test/laws/stored-conversations.test.ts';

export const RESPONSES: StateArea = {
  title: 'Stored responses',
  rows: [
    {
      openai: '`store` is true by default; the answer shows the effective value.',
      ours: 'more',
      how: 'With `PROXY_STORE=off`, or if the store failed, the answer says `store: false`: what is shown as stored is stored.',
      tests: {
        [STORED]: ['finds a response right after its answer'],
        'test/faults/unstored-answers.test.ts': ['shows a response with store: false'],
      },
    },
    {
      openai: '`GET` gives the object that its creation gave, streamed or not.',
      ours: 'same',
      tests: {
        [OBJECTS]: ['is the object that was given: %s'],
        [LAW]: ['is the object that its creation gave, to the byte, with the same include'],
      },
    },
    {
      openai: 'A response is found as soon as its last event was sent.',
      ours: 'same',
      how: 'It is written before that event is sent.',
      tests: { [STORED]: ['finds a response right after its answer'] },
    },
    {
      openai: 'A response that still runs in the foreground is not found, nor is one with `store: false`.',
      ours: 'same',
      tests: { [STORED]: ['does not find a response that still runs, or was not stored, or never was'] },
    },
    {
      openai: 'Objects belong to a project.',
      ours: 'differs',
      how: 'They belong to the API key that made them. For other keys they do not exist.',
      tests: { [STORED]: ['does not find a response of another key'] },
    },
    {
      openai:
        '`include` of a `GET` shows fields that the creating request did not ask for, and hides the others.',
      ours: 'same',
      tests: {
        [OBJECTS]: [
          'shows what the creating request did not ask for',
          'hides what only the creating request asked for',
        ],
        [STORED]: ['rejects an unknown include'],
      },
    },
    {
      openai: '`DELETE` removes a response. Responses that continue it go on working.',
      ours: 'same',
      tests: { [STORED]: ['deletes a response, and those that continue it stay'] },
    },
    {
      openai: '`/input_items` lists the input, the newest first, page by page.',
      ours: 'same',
      how: 'The conversation before the response follows its own input.',
      tests: {
        [STORED]: [
          'shows a text as a message with an id',
          'shows images if they are included',
          'pages through the input and the conversation before it, in both orders',
        ],
      },
    },
    {
      openai: 'Responses are kept for 30 days.',
      ours: 'more',
      how: '`PROXY_STORE_TTL_DAYS`, 30 by default.',
      tests: {
        'test/contracts/store-responses.test.ts': ['are unknown to other owners and after they expired'],
        'test/contracts/store-sweep.test.ts': ['deletes everything that has expired, in small steps'],
      },
    },
  ],
};
