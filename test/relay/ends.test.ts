import { describe, expect, it } from 'vitest';

import { STREAMS } from '../support/answer-streams.ts';
import { cutAnswer, ENDINGS, type Ending } from '../support/cut-answer.ts';
import { closed, completed, freshRelays, inTurn, WHOLE } from './backend.ts';

const start = freshRelays();

/** Every byte is in test/laws; here are the ways in which a connection ends. */
const EVERY = 23;
const stream = STREAMS['text and two calls'] ?? { bytes: Buffer.alloc(0), wholeAt: null };

describe('the end of an answer', () => {
  it.each(ENDINGS)('is reported once, and as completed only if it is: %s', async (ending: Ending) => {
    let length = 0;
    const { open, post } = await start((response) =>
      cutAnswer(response, stream.bytes.subarray(0, length), ending),
    );
    const wrong: unknown[] = [];
    for (length = 1; length < stream.bytes.length + EVERY; length += EVERY) {
      const { events } = open(`t${length}`);
      const response = await post(`t${length}`, {});
      await response.text().catch(() => null);
      const ends = events.filter((event) => event.kind === 'answer-ended').map(({ how }) => how);
      const isWhole = length >= stream.bytes.length;
      // What a reset overtakes is lost.
      const wanted = isWhole && ending !== 'RST' ? ['completed'] : isWhole ? ends : ['cut'];
      if (ends.length !== 1 || ends[0] !== wanted[0]) wrong.push({ length, status: response.status, ends });
    }
    // Before the first byte the request is sent again, and fails there too.
    expect(wrong.filter((one) => (one as { status: number }).status === 200)).toEqual([]);
  });

  it.each([
    ['response.failed', 'cut', { type: 'response.failed', response: { error: { message: 'No.' } } }],
    ['error', 'cut', { type: 'error', message: 'No.' }],
    [
      'response.incomplete',
      'incomplete',
      { type: 'response.incomplete', response: { incomplete_details: { reason: 'content_filter' } } },
    ],
    ['response.incomplete for no reason', 'incomplete', { type: 'response.incomplete', response: {} }],
    ['[DONE]', 'cut', null],
  ])('is not waited for after %s', async (_, how, event) => {
    const text = event === null ? 'data: [DONE]\n\n' : `data: ${JSON.stringify(event)}\n\n`;
    const { backend, open, post } = await start((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: {"type":"response.output_text.delta"}\n\n${text}`);
      // It keeps sending keepalives.
      const alive = setInterval(() => response.write(': alive\n\ndata: {"type":"keepalive"}\n\n'), 50);
      response.once('close', () => clearInterval(alive));
    });
    const { events } = open('t1');
    expect(await (await post('t1', {})).text()).toContain(text);
    expect(events).toMatchObject([{ kind: 'answer-started' }, { kind: 'answer-ended', how }]);
    await closed(backend);
  });

  it('is reported for each answer of a turn', async () => {
    const { open, post } = await start(
      inTurn((response) => cutAnswer(response, stream.bytes.subarray(0, 100), 'FIN'), completed),
    );
    const { events } = open('t1');
    await (await post('t1', {})).text();
    await (await post('t1', {})).text();
    expect(events).toEqual([{ kind: 'answer-started' }, { kind: 'answer-ended', how: 'cut' }, ...WHOLE]);
  });
});
