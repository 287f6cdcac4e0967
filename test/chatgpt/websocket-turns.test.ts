import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';

import { answer } from '../../src/demo/answer.ts';
import type { Script } from '../../src/demo/model-server.ts';
import { isJsonObject, type JsonObject } from '../../src/kit/json/json.ts';
import { mcpFiles } from '../support/mcp/config-file.ts';
import { startHttpMcp } from '../support/mcp/http-server.ts';
import { garbageJson, hello, inTurn, says, slow } from '../support/scripts.ts';
import { shareProxy } from './hooks.ts';
import { outputText, sentBy, type Answered, type ChatGptProxy } from './proxy.ts';

/** A login is served over WebSockets, by sockets that are used again. */
const files = mcpFiles();
const web = await startHttpMcp();
afterAll(() => web.close());
let proxy: ChatGptProxy;
shareProxy(
  (started) => {
    proxy = started;
  },
  { env: { PROXY_MCP_CONFIG: files.write({ web: { url: web.url, require_approval: 'never' } }) } },
);

const HELLO = 'Hello from the scripted model.';
const ask = (more: JsonObject = {}): Promise<Answered> =>
  proxy.post('/v1/responses', { model: 'gpt-6.1-sol', input: 'Hello?', ...more });

const metadataOf = (frame: JsonObject | null | undefined): JsonObject =>
  isJsonObject(frame?.['client_metadata']) ? frame['client_metadata'] : {};

describe('a request', () => {
  it.each(['gpt-5.5', 'gpt-6.1-sol'])('for %s is one frame with the whole conversation', async (model) => {
    for (const stream of [false, true]) expect(outputText(await ask({ model, stream }))).toBe(HELLO);
    expect(sentBy(proxy)).toEqual(['websocket', 'websocket']);
    for (const { frame } of proxy.backend.modelRequests) {
      expect(frame).toMatchObject({ type: 'response.create', model, store: false, stream: true });
      expect(Object.keys(frame ?? {})).not.toContain('previous_response_id');
      expect(Object.keys(frame ?? {})).not.toContain('generate');
      expect(metadataOf(frame)['ws_request_header_x_openai_internal_codex_responses_lite']).toBe(
        model === 'gpt-5.5' ? undefined : 'true',
      );
    }
  });

  it('uses a socket that has served, and its dial says who we are', async () => {
    for (let index = 0; index < 5; index += 1) await ask();
    const dials = new Set(proxy.backend.modelRequests.map(({ dial }) => dial));
    expect(dials.size).toBeLessThan(3);
    for (const dial of dials) {
      expect(dial?.headers['originator']).toBe('codex-app-server-proxy');
      expect(dial?.headers['user-agent']).toContain('codex-app-server-proxy');
    }
  });

  it('among many at once gets its own answer', async () => {
    const echo: Script = async ({ body }, connection) => {
      const number = /number (\d+)/.exec(JSON.stringify(body['input']))?.[1] ?? 'none';
      await connection.wait(Math.random() * 20);
      await answer(connection, [
        { text: `It is ${number}.`, deltas: ['It ', 'is ', `${number}.`], delayMs: 2 },
      ]);
    };
    proxy.backend.use(echo);
    const numbers = Array.from({ length: 48 }, (_, index) => String(100 + index));
    const answers: string[] = [];
    const left = [...numbers.entries()];
    const client = async (): Promise<void> => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) {
        const [index, number] = next;
        answers[index] = outputText(await ask({ input: `number ${number}`, stream: index % 2 === 0 }));
      }
    };
    await Promise.all(Array.from({ length: 16 }, client));
    expect(answers).toEqual(numbers.map((number) => `It is ${number}.`));
    expect(proxy.backend.modelRequests).toHaveLength(numbers.length);
    expect(sentBy(proxy)).toContain('websocket');
  });

  it('of the same turn brings the state of the turn', async () => {
    const call = { name: 'add', namespace: 'mcp__web', arguments: '{"a":2,"b":3}', callId: 'call_1' };
    proxy.backend.use(inTurn(says([{ call }]), hello));
    const answered = await ask({ tools: [{ type: 'mcp', server_label: 'web' }] });
    expect(outputText(answered)).toBe(HELLO);
    const states = proxy.backend.modelRequests.map(({ frame }) => metadataOf(frame)['x-codex-turn-state']);
    expect(states).toEqual([undefined, expect.stringMatching(/^turn-state-/)]);
    expect(answered.headers.get('x-codex-turn-state')).toBeNull();
  });

  it('that the client cancels ends its socket', async () => {
    proxy.backend.use(slow(1_000));
    const stop = new AbortController();
    const cancelled = fetch(`${proxy.url}/v1/responses`, {
      method: 'POST',
      signal: stop.signal,
      headers: { authorization: 'Bearer sk-test-key-0123456789', 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-6.1-sol', input: 'Hello?', stream: true }),
    }).then((response) => response.text());
    cancelled.catch(() => {});
    await expect.poll(() => proxy.backend.modelRequests.length).toBe(1);
    stop.abort();
    const dial = proxy.backend.modelRequests[0]?.dial;
    await expect.poll(() => dial?.closed ?? null).not.toBeNull();
    proxy.backend.use(hello);
    expect(outputText(await ask())).toBe(HELLO);
    expect(dial?.frames).toBeGreaterThan(0);
    expect(proxy.backend.modelRequests[1]?.dial).not.toBe(dial);
  });

  it('that is too large for a message is posted, and was not tried', async () => {
    const part = { role: 'user', content: 'x'.repeat(6 * 1024 * 1024) };
    const answered = await ask({ model: 'gpt-5.5', input: [part, part, part] });
    expect(outputText(answered)).toBe(HELLO);
    expect(sentBy(proxy)).toEqual(['http']);
  });
});

describe('an answer', () => {
  const read = async (pauseMs: number): Promise<string> => {
    const response = await fetch(`${proxy.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: 'Bearer sk-test-key-0123456789', 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-6.1-sol', input: 'Hello?', stream: true }),
    });
    let text = '';
    let isFirst = true;
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      if (isFirst) await sleep(pauseMs);
      isFirst = false;
    }
    return text;
  };

  it('of many megabytes is complete, also for a client that reads late', async () => {
    const deltas = Array.from({ length: 150 }, (_, index) => `${String(index)} `.padEnd(20_000, 'x'));
    proxy.backend.use(says([{ text: deltas.join(''), deltas }]));
    for (const pauseMs of [0, 2_000]) {
      const text = await read(pauseMs);
      expect(text).toContain('event: response.completed');
      const sent = [...text.matchAll(/"delta":"(\d+) x/g)].map(([, number]) => Number(number));
      expect(sent).toEqual(deltas.map((_, index) => index));
    }
    expect(sentBy(proxy)).toEqual(['websocket', 'websocket']);
  });

  it('with one large event is complete', async () => {
    const result = 'A'.repeat(9 * 1024 * 1024);
    const item = { type: 'image_generation_call', id: 'ig_1', status: 'completed', result };
    proxy.backend.use(says([{ item }, { text: 'There.' }]));
    const answered = await ask({ model: 'gpt-5.5', tools: [{ type: 'image_generation' }] });
    expect(outputText(answered)).toBe('There.');
    expect(answered.text).toContain(result);
    expect(sentBy(proxy)).toEqual(['websocket']);
  });

  it('that makes no sense is an error, and only of its own request', async () => {
    proxy.backend.use(garbageJson);
    expect((await ask()).status).toBe(502);
    proxy.backend.use(hello);
    expect(outputText(await ask())).toBe(HELLO);
  });
});

describe('the limits of the plan', () => {
  const used = (answered: Answered): string | null => answered.headers.get('x-codex-primary-used-percent');

  it('are those of this answer, also on a socket that has served', async () => {
    for (const percent of [43, 44, 45]) {
      proxy.backend.settings.primaryUsedPercent = percent;
      for (const stream of [true, false]) {
        const answered = await ask({ stream });
        expect(used(answered)).toBe(String(percent));
        expect(answered.headers.get('x-codex-secondary-window-minutes')).toBe('10080');
        expect(answered.headers.get('x-codex-plan-type')).toBe('plus');
      }
    }
    expect(sentBy(proxy)).toEqual(Array.from({ length: 6 }, () => 'websocket'));
  });

  it('are not those of the time when the socket was opened', async () => {
    await ask();
    proxy.backend.settings.rateLimitFrames = false;
    proxy.backend.settings.primaryUsedPercent = 90;
    const answered = await ask();
    expect([answered.status, used(answered)]).toEqual([200, null]);
    proxy.backend.cutSockets('all');
    await sleep(50);
    expect(used(await ask())).toBe('90');
  });
});

describe('cookies', () => {
  it('of an upgrade come back', async () => {
    await ask();
    proxy.backend.cutSockets('all');
    await ask();
    await expect
      .poll(() => proxy.backend.dials.at(-1)?.headers.cookie ?? '')
      .toContain('__cflb=made-up-balancer');
  });
});
