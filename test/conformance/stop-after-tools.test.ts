import { expect, it } from 'vitest';

import { openProxy } from '../support/open-proxy.ts';
import { hello, says } from '../support/scripts.ts';
import { eventsOf, readSse } from '../support/sse.ts';
import { collect } from '../support/turn-events.ts';

/** A deployment that sends calls in both forms and ends answers after their calls, on the real app-server. */

const proxy = await openProxy(hello, {
  PROXY_OUTPUT_MODE: 'obsidian-xml',
  PROXY_STOP_AFTER_TOOLS: 'burst',
  PROXY_STOP_AFTER_TOOLS_GRACE_MS: '50',
  PROXY_TOOL_BLOCK_MAX: '2',
});

const call = (query: string) => ({ call: { name: 'search', arguments: { query }, callId: `call_${query}` } });
const block = (query: string): string =>
  `<use_tool>\n<name>search</name>\n<query>${query}</query>\n</use_tool>`;
const lastEnding = (): Promise<string> | undefined => proxy.model.requests.at(-1)?.ended;

it('ends an answer and its turn if the model falls silent after a call', async () => {
  proxy.use(says([{ text: 'Look.' }, call('a'), { hang: true }]));
  const tools = [{ type: 'function', name: 'search' }];
  const answer = await proxy.post('/v1/responses', { model: 'gpt-5.5', tools, input: 'Hi' });
  expect(answer.headers.get('x-proxy-output-mode')).toBe('obsidian-xml');
  expect(answer.headers.get('x-proxy-usage')).toBe('counted');
  expect(await answer.json()).toMatchObject({
    status: 'completed',
    usage: { output_tokens: expect.any(Number) },
    output: [
      { type: 'message', content: [{ text: `Look.\n${block('a')}` }] },
      { type: 'function_call', call_id: 'call_a' },
    ],
  });
  expect(await lastEnding()).toBe('aborted');
});

it('ends an answer after the maximum number of calls, although the model continues', async () => {
  proxy.use(says([call('a'), call('b'), call('c'), { text: 'And', end: 'open' }, { hang: true }]));
  const answer = await proxy.post('/v1/chat/completions', {
    model: 'gpt-5.5',
    stream: true,
    tools: [{ type: 'function', function: { name: 'search' } }],
    messages: [{ role: 'user', content: 'Hi' }],
  });
  const chunks = eventsOf(await collect(readSse(await answer.text())));
  expect(chunks.at(-1)).toMatchObject({ choices: [{ finish_reason: 'tool_calls' }] });
  const said = JSON.stringify(chunks);
  expect([said.includes('call_b'), said.includes('call_c')]).toEqual([true, false]);
  expect(await lastEnding()).toBe('aborted');
});
