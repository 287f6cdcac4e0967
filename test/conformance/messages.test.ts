import Anthropic from '@anthropic-ai/sdk';
import { expect, it } from 'vitest';

import { openProxy } from '../support/open-proxy.ts';
import { hello } from '../support/scripts.ts';

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
