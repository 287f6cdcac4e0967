import { describe, expect, it } from 'vitest';

import { afterEvent, keptItems, NO_ANSWER, type LiveAnswer } from './live-answer.ts';
import { readEvents, type StreamEvent } from '../../api/read-events.ts';

const after = (events: readonly StreamEvent[]): LiveAnswer => events.reduce(afterEvent, NO_ANSWER);

const MESSAGE = { type: 'message', id: 'm', content: [{ type: 'output_text', text: 'Hello' }] };
const USAGE = { input_tokens: 1, output_tokens: 2 };

const WRITING: readonly StreamEvent[] = [
  { type: 'response.created', response: {} },
  { type: 'response.output_item.added', output_index: 0, item: { type: 'reasoning' } },
  { type: 'response.reasoning_summary_part.added', output_index: 0 },
  { type: 'response.reasoning_summary_text.delta', output_index: 0, delta: 'One' },
  { type: 'response.reasoning_summary_part.added', output_index: 0 },
  { type: 'response.reasoning_summary_text.delta', output_index: 0, delta: 'Two' },
  { type: 'response.output_item.done', output_index: 0, item: { type: 'reasoning', id: 'r' } },
  { type: 'response.output_item.added', output_index: 1, item: { type: 'message' } },
  { type: 'response.output_text.delta', output_index: 1, delta: 'Hel' },
  { type: 'response.output_text.delta', output_index: 1, delta: 'lo' },
];

describe('afterEvent', () => {
  it('adds up an answer while it arrives', () => {
    expect(after(WRITING)).toEqual({
      ...NO_ANSWER,
      items: [
        { id: 0, item: { type: 'reasoning', id: 'r' }, text: 'One\n\nTwo', isDone: true },
        { id: 1, item: { type: 'message' }, text: 'Hello', isDone: false },
      ],
    });
  });

  it('ends with the items and the usage of the response', () => {
    const response = { output: [{ type: 'reasoning', id: 'r' }, MESSAGE], usage: USAGE };
    const answer = after([...WRITING, { type: 'response.completed', response }]);
    expect([answer.end, answer.reason, answer.usage, keptItems(answer)]).toEqual([
      'completed',
      null,
      USAGE,
      response.output,
    ]);
  });

  it.each([
    [{ type: 'response.failed', response: { error: { message: 'Broken.' } } }, 'failed', 'Broken.'],
    [{ type: 'error', error: { message: 'Nested.' } }, 'failed', 'Nested.'],
    [{ type: 'error', message: 'Flat.' }, 'failed', 'Flat.'],
    [{ type: 'response.failed', response: {} }, 'failed', 'The server gave no reason.'],
  ])('says why it failed: %j', (event, end, reason) => {
    const answer = after([...WRITING, event]);
    expect([answer.end, answer.reason, keptItems(answer)]).toEqual([end, reason, []]);
  });

  it('says why it is incomplete, and keeps what there is', () => {
    const response = { output: [MESSAGE], incomplete_details: { reason: 'max_output_tokens' } };
    const answer = after([...WRITING, { type: 'response.incomplete', response }]);
    expect([answer.end, answer.reason, keptItems(answer)]).toEqual([
      'incomplete',
      'max_output_tokens',
      [MESSAGE],
    ]);
  });
});

const streamOf = (pieces: readonly Uint8Array[]): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });

describe('readEvents', () => {
  it('reads events from any pieces, and skips comments', async () => {
    const text =
      'event: a\ndata: {"type":"a","x":"ü"}\n\n: keep-alive\n\ndata: {"type":"b"}\n\ndata: [DONE]\n\n';
    const bytes = new TextEncoder().encode(text);
    for (const size of [1, 7, bytes.length]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.slice(index * size, (index + 1) * size),
      );
      const events: unknown[] = [];
      for await (const event of readEvents(streamOf(pieces))) events.push(event);
      expect(events).toEqual([{ type: 'a', x: 'ü' }, { type: 'b' }]);
    }
  });
});
