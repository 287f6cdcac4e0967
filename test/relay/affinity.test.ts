import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { describe, expect, it } from 'vitest';

import { UUID_V7 } from '../../src/codex/relay/request/affinity.ts';
import { openProxy } from '../support/open-proxy.ts';
import { startModelServer } from '../../src/demo/model-server.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { hello } from '../support/scripts.ts';

const OTHER_KEY = 'sk-other-key-0123456789';
const proxy = await openProxy(hello, { PROXY_API_KEY: `sk-test-key-0123456789,${OTHER_KEY}` });

interface Seen {
  readonly cacheKey: unknown;
  readonly session: unknown;
  readonly thread: unknown;
}

const ask = (body: unknown, headers?: Record<string, string>): Promise<Seen> => askAt(proxy, body, headers);

const askAt = async (at: TestProxy, body: unknown, headers: Record<string, string> = {}): Promise<Seen> => {
  const response = await at.post('/v1/responses', body, { headers });
  expect(response.status).toBe(200);
  await response.text();
  const request = at.model.requests.at(-1);
  // codex names its thread in many places: all must have the same id.
  const threads = JSON.stringify([request?.headers, request?.body['client_metadata']]).match(
    /(?<=(?:thread_id|session_id)\\*":\\*")[^"\\]+/g,
  );
  expect([...new Set(threads)]).toEqual([request?.headers['thread-id']]);
  return {
    cacheKey: request?.body['prompt_cache_key'],
    session: request?.headers['session-id'],
    thread: request?.headers['thread-id'],
  };
};

const tool = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } };
const base = { model: 'gpt-5.5', instructions: 'Be kind.', input: 'hi' };

describe('ten turns of one conversation', () => {
  it('have one cache key and one session, without a hint from the client', async () => {
    const input: unknown[] = [{ role: 'user', content: 'Turn 0' }];
    const seen: Seen[] = [];
    for (let turn = 1; turn <= 10; turn += 1) {
      seen.push(await ask({ ...base, input, tools: [tool], temperature: turn / 10 }));
      input.push({ role: 'assistant', content: `Answer ${turn}` }, { role: 'user', content: `Turn ${turn}` });
    }
    expect(new Set(seen.map((one) => JSON.stringify(one))).size).toBe(1);
    expect(seen[0]?.session).toBe(seen[0]?.cacheKey);
    expect(seen[0]?.thread).toBe(seen[0]?.cacheKey);
    expect(String(seen[0]?.cacheKey)).toMatch(UUID_V7);
  });
});

describe('another', () => {
  it('conversation, prompt, model, tool or key gets another', async () => {
    const seen = [
      await ask(base),
      await ask({ ...base, input: 'hello' }),
      await ask({ ...base, instructions: 'Be quick.' }),
      await ask({ ...base, model: 'gpt-5.6-luna' }),
      await ask({ ...base, tools: [tool] }),
      await ask(base, { authorization: `Bearer ${OTHER_KEY}` }),
      await ask(base, { 'session-id': 'one' }),
      await ask(base, { 'session-id': 'two' }),
    ];
    expect(new Set(seen.map((one) => one.cacheKey)).size).toBe(seen.length);
    expect(new Set(seen.map((one) => one.session)).size).toBe(seen.length);
    expect(await ask(base)).toEqual(seen[0]);
  });
});

describe('a client that sends its own key', () => {
  it('has it used unchanged', async () => {
    const own = 'customer ✨ "7"';
    const first = await ask({ ...base, prompt_cache_key: own }, { 'session-id': 'x' });
    const second = await ask({ ...base, input: 'other', prompt_cache_key: own });
    expect(first.cacheKey).toBe(own);
    expect(second).toEqual(first);
  });

  it('has an overlong one shortened, and its own UUID used everywhere', async () => {
    const long = await ask({ ...base, prompt_cache_key: 'k'.repeat(65) });
    expect([String(long.cacheKey).length, long.session]).toEqual([64, expect.stringMatching(UUID_V7)]);
    const uuid = '019a5c0b-7f00-7abc-8def-0123456789ab';
    expect(await ask({ ...base, prompt_cache_key: uuid })).toEqual({
      cacheKey: uuid,
      session: uuid,
      thread: uuid,
    });
  });

  it.each(['session-id', 'session_id', 'conversation_id', 'x-session-id'])(
    'has its session used, in a safe form: %s',
    async (name) => {
      const headers = { [name]: `abc%0d%0aevil: 1 ${'x'.repeat(3_000)}` };
      const first = await ask(base, headers);
      const second = await ask({ ...base, input: 'something else' }, headers);
      expect(second).toEqual(first);
      expect(String(first.session)).toMatch(/^[0-9a-f-]{36}$/);
      expect(first.cacheKey).toBe(first.session);
    },
  );
});

describe('a conversation after a restart of the server', () => {
  it('keeps its key', async () => {
    const stateDir = await mkdtemp(path.join(tmpdir(), 'affinity-'));
    // At another address it would be another backend.
    const model = await startModelServer({ script: hello, keepRequests: 10 });
    const askAfresh = async (): Promise<Seen> => {
      const fresh = await startProxy(hello, {
        PROXY_STATE_DIR: stateDir,
        PROXY_UPSTREAM_BASE_URL: model.baseUrl,
      });
      try {
        return await askAt({ ...fresh, model }, base);
      } finally {
        await fresh.close();
      }
    };
    try {
      const first = await askAfresh();
      expect(first.cacheKey).toMatch(UUID_V7);
      expect(await askAfresh()).toEqual(first);
    } finally {
      await model.close();
      await rm(stateDir, { recursive: true, force: true });
    }
  });
});

describe('a conversation that began with an image by URL', () => {
  const PIXELS = [
    'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7',
    'R0lGODlhAQABAIAAAP///////yH5BAEAAAAALAAAAAABAAEAAAIBRAA7',
  ];

  it('keeps its key even when the image changes', async () => {
    let served = 0;
    const images = createServer((_, response) => {
      response.setHeader('content-type', 'image/gif');
      response.end(Buffer.from(PIXELS[served % 2] ?? '', 'base64'));
      served += 1;
    });
    await new Promise<void>((resolve) => void images.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(images.address() as AddressInfo).port}/now.gif`;
    const fetching = await startProxy(hello, {
      PROXY_IMAGE_URLS: 'fetch',
      PROXY_IMAGE_FETCH_PRIVATE: 'true',
    });
    const shown = [{ role: 'user', content: [{ type: 'input_image', image_url: url }] }];
    try {
      const first = await askAt(fetching, { ...base, input: shown });
      const second = await askAt(fetching, { ...base, input: shown });
      expect(second).toEqual(first);
      const sent = fetching.model.requests.map((request) => JSON.stringify(request.body['input']));
      expect(new Set(sent.map((input) => /base64,[^"]+/.exec(input)?.[0])).size).toBe(2);
    } finally {
      images.close();
      await fetching.close();
    }
  });
});
