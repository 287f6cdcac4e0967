import { describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import { freshProxies } from '../support/open-proxy.ts';
import { hello, noUsage, says } from '../support/scripts.ts';
import { sentItems } from './responses-sent.ts';

/** Settings of a deployment. Each test starts its own server. */

const start = freshProxies();

const ASK = { model: 'gpt-5.5', input: 'hi' };
const message = (role: string, text: string) => ({
  type: 'message',
  role,
  content: [{ type: 'input_text', text }],
});

describe('PROXY_STRICT_PARAMS', () => {
  it('rejects parameters without effect with 400, before the model is called', async () => {
    const strict = await start(hello, { PROXY_STRICT_PARAMS: 'true' });
    const answer = await strict.post('/v1/responses', { ...ASK, colour: 'purple' });
    expect([answer.status, await answer.json()]).toEqual([
      400,
      {
        error: {
          message: "Unsupported parameter: 'colour' has no effect here, and strict parameters are on.",
          type: 'invalid_request_error',
          param: 'colour',
          code: 'unsupported_parameter',
        },
      },
    ]);
    expect(strict.model.requests).toHaveLength(0);
    expect((await strict.post('/v1/responses', ASK)).status).toBe(200);
    // Parameters that have an effect, or only repeat the default, are accepted.
    const safeMessage = { stream: true, stream_options: { include_usage: true }, unheard_of: null };
    const answers = await Promise.all([
      strict.post('/v1/responses', { ...ASK, ...safeMessage }),
      strict.post('/v1/chat/completions', {
        model: 'gpt-5.5',
        messages: [{ role: 'user', content: 'hi', unheard_of: null }],
        ...safeMessage,
      }),
    ]);
    for (const one of answers) await one.text();
    expect(answers.map(({ status, headers }) => [status, headers.get('x-proxy-ignored-params')])).toEqual([
      [200, null],
      [200, null],
    ]);
  });

  it('rejects parameters that the backend turns out not to accept', async () => {
    const strict = await start(hello, { PROXY_STRICT_PARAMS: 'true', PROXY_WIRE: 'off' });
    const answer = await strict.post('/v1/responses', { ...ASK, temperature: 0.5 });
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { error: { param: 'temperature', code: 'unsupported_parameter' } },
    ]);
  });
});

describe('PROXY_INSTRUCTIONS_TARGET', () => {
  it('developer: all prompts of the client become one developer message', async () => {
    const developer = await start(hello, { PROXY_INSTRUCTIONS_TARGET: 'developer', PROXY_WIRE: 'off' });
    const answer = await developer.post('/v1/responses', {
      model: 'gpt-5.5',
      instructions: 'A',
      input: [
        { role: 'system', content: 'B' },
        { role: 'user', content: 'C' },
        { role: 'developer', content: 'D' },
      ],
    });
    expect(answer.status).toBe(200);
    expect(sentItems(developer.model)).toEqual([message('developer', 'A\n\nB\n\nD'), message('user', 'C')]);
  });
});

describe('PROXY_IGNORE_CLIENT_SYSTEM_PROMPT', () => {
  it('removes the prompts of the client, and reports it', async () => {
    const silent = await start(hello, { PROXY_IGNORE_CLIENT_SYSTEM_PROMPT: 'true' });
    const answer = await silent.post('/v1/responses', {
      model: 'gpt-5.5',
      instructions: 'A',
      input: [
        { role: 'system', content: 'B' },
        { role: 'user', content: 'C' },
      ],
    });
    expect(answer.headers.get('x-proxy-ignored-params')).toBe('instructions, input[0]');
    expect(sentItems(silent.model)).toEqual([message('user', 'C')]);
  });
});

describe('PROXY_USAGE_POLICY', () => {
  it('zeros: reports zeros if the upstream reports no usage', async () => {
    const counting = await start(noUsage, { PROXY_USAGE_POLICY: 'zeros' });
    const body = (await (await counting.post('/v1/responses', ASK)).json()) as { usage: unknown };
    expect(body.usage).toEqual({
      input_tokens: 0,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: 0,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 0,
    });
  });
});

describe('PROXY_DEMO=false without an upstream and a login', () => {
  it('is a 503 that says what to do', async () => {
    const alone = await start(hello, { PROXY_UPSTREAM_BASE_URL: '', PROXY_DEMO: 'false' });
    const answer = await alone.post('/v1/responses', ASK);
    expect([answer.status, await answer.json()]).toEqual([
      503,
      {
        error: {
          message: expect.stringMatching(/it is not signed in\. .*npm run login/),
          type: 'server_error',
          param: null,
          code: 'sign_in_required',
        },
      },
    ]);
    expect(answer.headers.get('x-should-retry')).toBe('false');
    expect(alone.model.requests).toHaveLength(0);
  });
});

describe('PROXY_LOG_CONTENT', () => {
  it('logs request and answer under the request id, without the key', async () => {
    const open = await start(says([{ text: 'said by the model' }]), { PROXY_LOG_CONTENT: 'true' });
    const answer = await open.post('/v1/responses', {
      ...ASK,
      instructions: 'said by the operator',
      input: 'said by the client',
    });
    await answer.text();
    const lines = open.log.filter((line) => line['requestId'] === answer.headers.get('x-request-id'));
    expect(lines).toMatchObject([
      {
        msg: 'turn asked',
        content: {
          instructions: 'said by the operator',
          items: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'said by the client' }] }],
        },
      },
      { msg: 'turn answered', content: { kind: 'message', parts: [{ text: 'said by the model' }] } },
      { msg: 'request' },
    ]);
    expect(JSON.stringify(open.log)).not.toContain(open.key);
  });
});

describe('PROXY_SSE_KEEPALIVE_MS', () => {
  it('sends comments during silence, and the answer still arrives', async () => {
    const quiet = await start(says([{ wait: 400 }, { text: 'At last.' }]), { PROXY_SSE_KEEPALIVE_MS: '20' });
    const answer = await quiet.post('/v1/responses', { ...ASK, stream: true });
    const frames = (await answer.text()).split('\n\n').slice(0, -1);
    const comments = frames.filter((frame) => frame === ': keepalive');
    expect(comments.length).toBeGreaterThan(1);
    const events = frames.filter((frame) => frame !== ': keepalive');
    expect(events.every((frame) => /^event: .+\ndata: .+$/.test(frame))).toBe(true);
    expect(events.at(-2)).toContain('"type":"response.completed"');
  });

  it('sends a later error as an event, because the status is already sent', async () => {
    const script: Script = async (_, connection) => {
      await new Promise((resolve) => {
        setTimeout(resolve, 400);
      });
      connection.reply(429, { error: { message: 'no', type: 'rate_limit_error', param: null, code: 'x' } });
    };
    const quiet = await start(script, { PROXY_SSE_KEEPALIVE_MS: '20' });
    const answer = await quiet.post('/v1/responses', { ...ASK, stream: true });
    const text = await answer.text();
    expect(answer.status).toBe(200);
    expect(text).toContain('event: error\n');
    expect(text).toContain('"code":"rate_limit_exceeded"');
    expect(text.trimEnd().endsWith('data: [DONE]')).toBe(true);
  });
});

describe('PROXY_MAX_BODY_BYTES', () => {
  it('also limits the size of referenced content', async () => {
    const small = await start(says([{ text: 'x'.repeat(12_000) }]), { PROXY_MAX_BODY_BYTES: '20000' });
    const idOf = async (): Promise<string | undefined> => {
      const answer = await small.post('/v1/responses', ASK);
      return ((await answer.json()) as { output: { id: string }[] }).output[0]?.id;
    };
    const input = [await idOf(), await idOf()].map((id) => ({ type: 'item_reference', id }));
    for (const path of ['/v1/responses/input_tokens', '/v1/responses']) {
      const answer = await small.post(path, { ...ASK, input });
      expect([answer.status, await answer.json()]).toEqual([
        413,
        {
          error: {
            message: 'The items that the request refers to are in total larger than the 20000 bytes allowed.',
            type: 'invalid_request_error',
            param: null,
            code: 'request_too_large',
          },
        },
      ]);
      expect((await small.post(path, { ...ASK, input: input.slice(0, 1) })).status).toBe(200);
    }
  });
});
