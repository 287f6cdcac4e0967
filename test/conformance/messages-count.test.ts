import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it } from 'vitest';

import { openProxy } from '../support/open-proxy.ts';
import { hello } from '../support/scripts.ts';

const proxy = await openProxy(hello, { PROXY_MAX_CONCURRENT_TURNS: '1', PROXY_MAX_QUEUED_TURNS: '0' });
const anthropic = new Anthropic({ baseURL: proxy.url, apiKey: proxy.key, maxRetries: 0 });
const messages = [{ role: 'user' as const, content: 'Tell me a joke.' }];

describe('count_tokens', () => {
  it('counts what the model would read, without a model request', async () => {
    const before = proxy.model.requests.length;
    const plain = await anthropic.messages.countTokens({ model: 'claude-sonnet-5-5', messages });
    const system = 'Be kind.';
    const prompted = await anthropic.messages.countTokens({ model: 'claude-sonnet-5-5', system, messages });
    expect([plain, prompted]).toEqual([{ input_tokens: 11 }, { input_tokens: 18 }]);
    expect(proxy.model.requests.length).toBe(before);
  });

  it('takes as many requests at once as Claude Code sends, with one turn slot', async () => {
    const text = 'All work and no play makes Jack a dull boy. '.repeat(1_000);
    const counts = await Promise.all(
      Array.from({ length: 24 }, (_, index) =>
        anthropic.messages.countTokens({
          model: 'claude-opus-5-5',
          messages: [{ role: 'user', content: `${index} ${text}` }],
        }),
      ),
    );
    expect(new Set(counts.map(({ input_tokens: tokens }) => tokens > 10_000))).toEqual(new Set([true]));
  });

  it('rejects what a message would be rejected for', async () => {
    const body = { model: 'claude-opus-5-5', max_tokens: 1, messages: [{ role: 'user', content: 7 }] };
    const headers = { 'x-request-id': 'req_same' };
    const answers = await Promise.all(
      ['/v1/messages', '/v1/messages/count_tokens'].map(async (path) => {
        const answer = await proxy.post(path, body, { headers });
        return [answer.status, await answer.json()];
      }),
    );
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[1]).toEqual([
      400,
      {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: 'messages[0].content: expected a string or an array, but got an integer instead.',
        },
        request_id: 'req_same',
      },
    ]);
  });
});
