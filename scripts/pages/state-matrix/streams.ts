import type { StateArea } from './row.ts';

const STREAMS = 'test/conformance/background-streams.test.ts';

export const STREAMS_AREA: StateArea = {
  title: 'Streams that can be resumed',
  rows: [
    {
      openai:
        '`GET ?stream=true` sends the events of a background response again, `starting_after` those after a number, and goes on live.',
      ours: 'same',
      how: 'Byte for byte.',
      tests: {
        [STREAMS]: [
          'begins with its queue, and numbers its events from 0 without a gap',
          'is the same from every event on, byte for byte',
          'is read by the official client, live and after its end',
        ],
      },
    },
    {
      openai: 'Readers may come and go; the response runs on.',
      ours: 'same',
      tests: { [STREAMS]: ['is followed by any number of readers, who may leave'] },
    },
    {
      openai: 'The stream of a cancelled response just ends; that of a failed one ends with an error.',
      ours: 'same',
      tests: {
        [STREAMS]: [
          'just ends when the response is cancelled',
          'ends with an error event if the response fails',
        ],
      },
    },
    {
      openai: 'Events are kept for five minutes.',
      ours: 'more',
      how: 'Ten minutes after the end, also over a restart of the server.',
      tests: { [STREAMS]: ['survives a restart of the server, and is dropped ten minutes after its end'] },
    },
    {
      openai: 'Only a response that was created with `stream: true` can be streamed.',
      ours: 'more',
      how: 'Every background response can.',
      tests: { [STREAMS]: ['exists also if the request did not ask for it'] },
    },
    {
      openai: 'Only background responses can be streamed again.',
      ours: 'more',
      how: 'Stored responses with a stream of their own can, for ten minutes after their end.',
      tests: {
        [STREAMS]: [
          'can be sent again while it is kept, if the response is stored',
          'is not found while it runs, and not kept if its client leaves',
          'does not exist if the answer was sent whole',
        ],
      },
    },
  ],
};
