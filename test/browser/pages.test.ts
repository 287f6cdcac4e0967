import type Client from 'openai';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openProxy } from '../support/open-proxy.ts';
import { hello, says } from '../support/scripts.ts';
import { openBrowser } from './open-browser.ts';
import { startPageServer } from './page-server.ts';

/** Pages of other origins in a real browser, which enforces what our CORS headers allow. */

const opened = await openBrowser();
const browser = typeof opened === 'string' ? null : opened;
if (typeof opened === 'string' && process.env['CI'] === 'true') {
  throw new Error(`no browser runs here: ${opened}`);
}
const NEEDS_BROWSER = {
  meta: { needs: `a browser, and none runs here: ${typeof opened === 'string' ? opened : ''}` },
};
const pages = await startPageServer();
const proxy = await openProxy(hello);
afterAll(async () => {
  await browser?.close();
  await pages.close();
});

const ALLOWED = `http://localhost:${pages.port}`;
/** A browser resolves names below `localhost` to this machine; these origins are not allowed. */
const FOREIGN = `http://elsewhere.localhost:${pages.port}`;

const openPage = async (at: string): Promise<Page> => {
  if (browser === null) throw new Error('there is no browser');
  const page = await browser.newPage();
  await page.goto(at);
  return page;
};

interface Sent {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** As LangChain sends it from Obsidian's window. */
const asked = (path: string, body: unknown, key = proxy.key): Sent => ({
  url: proxy.url + path,
  headers: {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'x-stainless-lang': 'js',
    'x-stainless-runtime': 'browser:chrome',
    'dangerously-allow-browser': 'true',
  },
  body: JSON.stringify(body),
});

/** Runs in the page: returns a whole answer, with the headers that a page sees. */
const send = async ({ url, headers, body }: Sent) => {
  const answer = await fetch(url, { method: 'POST', headers, body });
  return { status: answer.status, headers: Object.fromEntries(answer.headers), text: await answer.text() };
};

/** Runs in the page: cancels the answer once it contains this word. */
const readTo = async ({ url, headers, body, word }: Sent & { word: string }): Promise<string> => {
  const left = new AbortController();
  const answer = await fetch(url, { method: 'POST', headers, body, signal: left.signal });
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!text.includes(word)) {
    const step = await reader?.read();
    if (step === undefined || step.done) throw new Error(`the stream ended early: ${text}`);
    text += step.value;
  }
  left.abort();
  return text;
};

const linesSince = (from: number): readonly Record<string, unknown>[] => proxy.log.slice(from);
const RESPONSES = { model: 'gpt-5.5', input: 'hi' };
const CHAT = { model: 'gpt-5.5', messages: [{ role: 'user', content: 'hi' }] };
const APIS = [
  ['/v1/responses', RESPONSES],
  ['/v1/chat/completions', CHAT],
] as const;

describe.skipIf(browser === null)('a page of an allowed origin', NEEDS_BROWSER, () => {
  let page: Page;
  beforeAll(async () => {
    page = await openPage(ALLOWED);
  });

  it.each(APIS)('sends a preflight, then reads the answer of %s and its headers', async (path, body) => {
    proxy.use(hello);
    const from = proxy.log.length;
    const { status, headers, text } = await page.evaluate(
      send,
      asked(path, { ...body, no_such_parameter: 1 }),
    );
    expect([status, text]).toEqual([200, expect.stringContaining('Hello from the scripted model.')]);
    expect(headers).toMatchObject({
      'x-request-id': expect.stringMatching(/^req_/),
      'x-proxy-ignored-params': 'no_such_parameter',
    });
    await expect
      .poll(() => linesSince(from).filter(({ msg }) => msg === 'request'))
      .toMatchObject([
        { method: 'OPTIONS', route: path, status: 204, keyId: null },
        { method: 'POST', route: path, status: 200, requestId: headers['x-request-id'] },
      ]);
  });

  it.each(APIS)('reads a stream of %s while it is written, and may cancel it', async (path, body) => {
    const from = proxy.log.length;
    proxy.use(says([{ text: 'The beginning', deltas: ['The beginning'], end: 'open' }, { hang: true }]));
    const text = await page.evaluate(readTo, {
      ...asked(path, { ...body, stream: true }),
      word: 'The beginning',
    });
    expect(text).not.toContain('[DONE]');
    await expect
      .poll(() => linesSince(from).filter(({ method }) => method === 'POST'))
      .toMatchObject([{ route: path, stream: true, outcome: 'abandoned' }]);
  });

  it.each(APIS)('reads why %s is rejected', async (path, body) => {
    const wrongKey = await page.evaluate(send, asked(path, body, 'sk-wrong-key-0123456789'));
    const wrongBody = await page.evaluate(send, asked(path, { ...body, model: 7 }));
    const notServed = await page.evaluate(send, asked('/v1/audio/speech', body));
    const unknown = await page.evaluate(send, asked(`/nowhere${path}`, body));
    const codes = [wrongKey, wrongBody, notServed, unknown].map(({ status, headers, text }) => [
      status,
      (JSON.parse(text) as { error: { code: string } }).error.code,
      headers['x-request-id']?.slice(0, 4),
    ]);
    expect(codes).toEqual([
      [401, 'invalid_api_key', 'req_'],
      [400, 'invalid_type', 'req_'],
      [404, 'endpoint_not_supported', 'req_'],
      [404, 'unknown_url', 'req_'],
    ]);
  });

  it("runs OpenAI's own client", async () => {
    proxy.use(hello);
    const withClient = await openPage(`${ALLOWED}/openai`);
    const told = await withClient.evaluate(
      async ({ baseURL, apiKey, model }) => {
        const { OpenAI } = globalThis as unknown as { OpenAI: typeof Client };
        const client = new OpenAI({ baseURL, apiKey, dangerouslyAllowBrowser: true, maxRetries: 0 });
        let streamed = '';
        for await (const event of await client.responses.create({ model, input: 'hi', stream: true })) {
          if (event.type === 'response.output_text.delta') streamed += event.delta;
        }
        const chat = await client.chat.completions.create({
          model,
          messages: [{ role: 'user', content: 'hi' }],
        });
        const refused: unknown = await client
          .withOptions({ apiKey: 'sk-wrong-key-0123456789' })
          .models.list()
          .catch((error: unknown) => error);
        const { status, code, requestID } = refused as InstanceType<typeof Client.APIError>;
        return { streamed, chat: chat.choices[0]?.message.content, status, code, requestID };
      },
      { baseURL: `${proxy.url}/v1`, apiKey: proxy.key, model: 'gpt-5.5' },
    );
    expect(told).toEqual({
      streamed: 'Hello from the scripted model.',
      chat: 'Hello from the scripted model.',
      status: 401,
      code: 'invalid_api_key',
      requestID: expect.stringMatching(/^req_/),
    });
  });
});

describe.skipIf(browser === null)('a page of another origin', NEEDS_BROWSER, () => {
  it.each([
    ['elsewhere', FOREIGN, FOREIGN],
    ['without one', `${ALLOWED}/sandboxed`, 'null'],
  ])('%s sends nothing', async (_, at, origin) => {
    const page = await openPage(at);
    const from = proxy.log.length;
    await expect(page.evaluate(send, asked('/v1/responses', RESPONSES))).rejects.toThrow('Failed to fetch');
    expect(linesSince(from)).toMatchObject([
      { msg: expect.stringContaining('PROXY_CORS_ALLOWED_ORIGINS'), origin },
      { msg: 'request', method: 'OPTIONS', status: 204 },
    ]);
  });

  it('cannot read routes without a key either', async () => {
    const page = await openPage(FOREIGN);
    const url = `${proxy.url}/healthz`;
    await expect(page.evaluate((at) => fetch(at).then(({ status }) => status), url)).rejects.toThrow(
      'Failed to fetch',
    );
    const allowed = await openPage(ALLOWED);
    expect(await allowed.evaluate((at) => fetch(at).then(({ status }) => status), url)).toBe(200);
  });
});
