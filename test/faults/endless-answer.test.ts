import { describe, expect, it } from 'vitest';

import { freshProxies } from '../support/open-proxy.ts';
import { says } from '../support/scripts.ts';
import { until } from '../support/until.ts';

/** A model that writes without end: the answer ends at its limit in every API. */

const start = freshProxies();

const MB = 1024 * 1024;
const PIECE = 'x'.repeat(MB / 4);
/** Then it waits: only the limit can end it. */
const endless = says([
  { text: '', deltas: Array.from({ length: 140 }, () => PIECE), end: 'open' },
  { hang: true },
]);

const error = {
  message: 'The answer of the upstream is too large: at most 32 MB are accepted.',
  type: 'server_error',
  param: null,
  code: 'answer_too_large',
};
const ASK = { model: 'gpt-5.5', input: 'hi' };
const CHAT = { model: 'gpt-5.5', messages: [{ role: 'user', content: 'hi' }] };

/** How often a long text contains a short one. */
const countOf = (text: string, part: string): number => text.split(part).length - 1;

describe('an endless answer ends with an error at its limit', () => {
  it.each(['on', 'off'])('as a stream, PROXY_WIRE=%s', async (wire) => {
    const proxy = await start(endless, { PROXY_WIRE: wire });
    const text = await (await proxy.post('/v1/responses', { ...ASK, stream: true })).text();
    expect(countOf(text, 'event: response.output_text.delta\n')).toBeGreaterThanOrEqual(128);
    expect(countOf(text, 'event: error\n')).toBe(1);
    expect(countOf(text, JSON.stringify(error))).toBe(1);
    expect(countOf(text, 'event: response.failed\n')).toBe(1);
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it.each([
    ['/v1/responses', ASK],
    ['/v1/chat/completions', CHAT],
  ])('as JSON of %s', async (path, body) => {
    const proxy = await start(endless);
    const answer = await proxy.post(path, body);
    expect([answer.status, answer.headers.get('x-should-retry'), await answer.json()]).toEqual([
      502,
      'false',
      { error },
    ]);
    expect(proxy.model.requests).toHaveLength(1);
  });

  it('as a stream of /v1/messages', async () => {
    const proxy = await start(endless);
    const answer = await proxy.post('/v1/messages', { ...CHAT, max_tokens: 100_000_000, stream: true });
    expect(await answer.text()).toContain(`"type":"api_error","message":"${error.message}"`);
  });

  it('in the background', async () => {
    const proxy = await start(endless);
    const { id } = await proxy.openai.responses.create({ ...ASK, background: true });
    await until(async () => (await proxy.openai.responses.retrieve(id)).status === 'failed');
    expect((await proxy.openai.responses.retrieve(id)).error?.message).toBe(error.message);
  });
});
