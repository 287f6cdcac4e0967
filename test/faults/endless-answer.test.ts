import { afterEach, describe, expect, it, vi } from 'vitest';

import { ModelBudget } from '../../src/canonical/context/model-budget.ts';
import type { Script } from '../../src/demo/model-server.ts';
import { openProxy } from '../support/open-proxy.ts';
import type { TestProxy } from '../support/proxy.ts';
import { hello, says } from '../support/scripts.ts';
import { until } from '../support/until.ts';

/** A model that writes without end: the answer ends at its limit in every API. */

const proxies = { on: await openProxy(hello), off: await openProxy(hello, { PROXY_WIRE: 'off' }) };
const proxy = proxies.on;

const MB = 1024 * 1024;
/** Four parts more than fit. Then it waits: only the limit can end it. */
const endless = (chars: number): Script =>
  says([
    { text: '', deltas: Array.from({ length: 132 }, () => 'x'.repeat(chars / 128)), end: 'open' },
    { hang: true },
  ]);
/** One answer has the real size. In the others a character counts as many: what is done at the limit is the same. */
const FACTOR = 32;
const { write } = ModelBudget.prototype;
const useSmall = (on: TestProxy): void => {
  vi.spyOn(ModelBudget.prototype, 'write').mockImplementation(function counted(this: ModelBudget, chars) {
    return write.call(this, chars * FACTOR);
  });
  on.use(endless((32 * MB) / FACTOR));
};
afterEach(() => vi.restoreAllMocks());

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

/** What a client reads of the stream; the deltas up to the limit. */
const readStream = async (on: TestProxy) => {
  const text = await (await on.post('/v1/responses', { ...ASK, stream: true })).text();
  return {
    hasAllDeltas: countOf(text, 'event: response.output_text.delta\n') >= 128,
    errorEvents: countOf(text, 'event: error\n'),
    errors: countOf(text, JSON.stringify(error)),
    failed: countOf(text, 'event: response.failed\n'),
    isEnded: text.endsWith('data: [DONE]\n\n'),
  };
};
const ENDED = { hasAllDeltas: true, errorEvents: 1, errors: 1, failed: 1, isEnded: true };

describe('an endless answer ends with an error at its limit', () => {
  it('as a stream of 32 MB', async () => {
    proxy.use(endless(32 * MB));
    expect(await readStream(proxy)).toEqual(ENDED);
  });

  it('as a stream, PROXY_WIRE=off', async () => {
    useSmall(proxies.off);
    expect(await readStream(proxies.off)).toEqual(ENDED);
  });

  it.each([
    ['/v1/responses', ASK],
    ['/v1/chat/completions', CHAT],
  ])('as JSON of %s', async (path, body) => {
    useSmall(proxy);
    const before = proxy.model.requests.length;
    const answer = await proxy.post(path, body);
    expect([answer.status, answer.headers.get('x-should-retry'), await answer.json()]).toEqual([
      502,
      'false',
      { error },
    ]);
    expect(proxy.model.requests.length - before).toBe(1);
  });

  it('as a stream of /v1/messages', async () => {
    useSmall(proxy);
    const answer = await proxy.post('/v1/messages', { ...CHAT, max_tokens: 100_000_000, stream: true });
    expect(await answer.text()).toContain(`"type":"api_error","message":"${error.message}"`);
  });

  it('in the background', async () => {
    useSmall(proxy);
    const { id } = await proxy.openai.responses.create({ ...ASK, background: true });
    await until(async () => (await proxy.openai.responses.retrieve(id)).status === 'failed');
    expect((await proxy.openai.responses.retrieve(id)).error?.message).toBe(error.message);
  });
});
