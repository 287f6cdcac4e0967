import Anthropic from '@anthropic-ai/sdk';
import { expect, it } from 'vitest';

import { openProxy } from '../support/open-proxy.ts';
import { hello, noUsage } from '../support/scripts.ts';

const proxy = await openProxy(hello);
const anthropic = new Anthropic({ baseURL: proxy.url, apiKey: proxy.key });
const ask = { model: 'gpt-5.5', max_tokens: 100, messages: [{ role: 'user' as const, content: 'Hi.' }] };

it('gives the same message as JSON and as a stream', async () => {
  const whole = await anthropic.messages.create(ask);
  const streamed = await anthropic.messages.stream(ask).finalMessage();
  expect(whole).toMatchObject({
    type: 'message',
    role: 'assistant',
    model: 'gpt-5.5',
    content: [{ type: 'text', text: 'Hello from the scripted model.' }],
    stop_reason: 'end_turn',
  });
  expect({ ...streamed, id: whole.id }).toMatchObject({ ...whole });
});

it('counts the usage if the backend reports none: clients compact their conversation by it', async () => {
  proxy.use(noUsage);
  const usage = { input_tokens: 8, cache_read_input_tokens: 0, output_tokens: 3 };
  expect((await anthropic.messages.create(ask)).usage).toMatchObject(usage);
  expect((await anthropic.messages.stream(ask).finalMessage()).usage).toMatchObject(usage);
});

it('says that no edit of the context was applied, if edits are asked for', async () => {
  proxy.use(hello);
  const body = { ...ask, context_management: { edits: [{ type: 'clear_tool_uses_20250919' as const }] } };
  const messages = [
    await anthropic.beta.messages.create(body),
    await anthropic.beta.messages.stream(body).finalMessage(),
  ];
  expect(messages.map((message) => message.context_management)).toEqual([
    { applied_edits: [] },
    { applied_edits: [] },
  ]);
  expect(await anthropic.messages.create(ask)).not.toHaveProperty('context_management');
});
