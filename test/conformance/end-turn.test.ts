import { afterAll, expect, it } from 'vitest';

import { startBackend } from '../relay/backend.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello } from '../support/scripts.ts';

/** codex calls the model again after an answer that says that its turn is not over. */
let nth = 0;
const backend = await startBackend((response, { method }) => {
  if (method === 'POST') nth += 1;
  const events = [
    { type: 'response.created', response: { id: `resp_${nth}` } },
    {
      type: 'response.output_item.done',
      output_index: 0,
      item: {
        type: 'message',
        role: 'assistant',
        id: `msg_${nth}`,
        content: [{ type: 'output_text', text: `Part ${nth}.`, annotations: [] }],
      },
    },
    { type: 'response.completed', response: { id: `resp_${nth}`, end_turn: nth >= 3 } },
  ];
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
});
afterAll(() => backend.close());
const proxy = await openProxy(hello, { PROXY_UPSTREAM_BASE_URL: backend.url });

it('has all answers of a turn in one response, until the model ends its turn', async () => {
  const response = await proxy.openai.responses.create({ model: 'gpt-5.5', input: 'Go on.' });
  expect([response.status, response.output_text]).toEqual(['completed', 'Part 1.Part 2.Part 3.']);
  const inputs = backend.arrivals
    .filter(({ method }) => method === 'POST')
    .map(
      ({ body }) =>
        (JSON.parse(body.toString('utf8')) as { readonly input: readonly unknown[] }).input.length,
    );
  expect(inputs).toEqual([1, 2, 3]);
});
