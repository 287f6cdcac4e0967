import OpenAI, { APIError } from 'openai';
import { describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import { freshProxies, openProxy } from '../support/open-proxy.ts';
import { validateResponse } from '../support/schema.ts';
import { hello, says } from '../support/scripts.ts';
import { until } from '../support/until.ts';

type Create = OpenAI.Responses.ResponseCreateParamsNonStreaming;
type Response = OpenAI.Responses.Response;

const OTHER_KEY = 'sk-other-key-0123456789';
const proxy = await openProxy(hello, { PROXY_API_KEY: `sk-test-key-0123456789,${OTHER_KEY}` });
const { openai } = proxy;
const stranger = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: OTHER_KEY, maxRetries: 0 });
const started = freshProxies();

/** Begins a text, and never ends it. */
const hangs: Script = says([{ text: 'One, two', end: 'open' }, { hang: true }]);

const inBackground = (more: Partial<Create> = {}, client = openai): Promise<Response> =>
  client.responses.create({ model: 'gpt-5.5', input: 'Say hello.', background: true, ...more });

const whenEnded = async (id: string, client = openai): Promise<Response> => {
  let response = await client.responses.retrieve(id);
  await until(async () => {
    response = await client.responses.retrieve(id);
    return response.status !== 'queued' && response.status !== 'in_progress';
  });
  return response;
};

const whenRunning = (id: string): Promise<void> =>
  until(async () => (await openai.responses.retrieve(id)).status === 'in_progress');

const refusal = async (asked: Promise<unknown>): Promise<unknown> => {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof APIError)) throw error;
    const { message, type, param, code } = error.error as Record<string, unknown>;
    return { status: error.status, message, type, param, code };
  }
};

/** The client adds `output_text` to some answers. */
const sent = (response: Response): unknown =>
  JSON.parse(JSON.stringify({ ...response, output_text: undefined }));

const WRONG = { type: 'invalid_request_error', param: null, code: null };

describe('a background response', () => {
  it('is queued at once, runs without a client, and is found in each state', async () => {
    const model = Promise.withResolvers<void>();
    proxy.use(async (request, connection) => {
      await model.promise;
      await hello(request, connection);
    });
    const queued = await inBackground({ metadata: { a: 'b' } });
    expect(queued).toMatchObject({
      object: 'response',
      status: 'queued',
      background: true,
      store: true,
      output: [],
      usage: null,
      error: null,
      metadata: { a: 'b' },
    });
    validateResponse(queued);
    expect(await openai.responses.retrieve(queued.id)).toEqual(queued);
    model.resolve();
    const response = await whenEnded(queued.id);
    validateResponse(response);
    expect(response).toEqual({
      ...queued,
      status: 'completed',
      completed_at: expect.any(Number) as unknown,
      output: [expect.objectContaining({ type: 'message', status: 'completed' })],
      output_text: 'Hello from the scripted model.',
      usage: expect.objectContaining({ total_tokens: 18 }) as unknown,
    });
  });

  it('can be continued when it has ended, not before', async () => {
    proxy.use(hangs);
    const running = await inBackground();
    const follow = (id: string) =>
      openai.responses.create({ model: 'gpt-5.5', input: 'And?', previous_response_id: id });
    expect(await refusal(follow(running.id))).toMatchObject({ status: 400, param: 'previous_response_id' });
    await openai.responses.cancel(running.id);
    expect(await refusal(follow(running.id))).toMatchObject({ code: 'previous_response_not_found' });
    proxy.use(hello);
    const first = await whenEnded((await inBackground()).id);
    const second = await inBackground({ input: 'And?', previous_response_id: first.id });
    expect(await whenEnded(second.id)).toMatchObject({
      status: 'completed',
      previous_response_id: first.id,
    });
    expect(proxy.model.requests.at(-1)?.body['input']).toMatchObject([
      { role: 'user', content: [{ text: 'Say hello.' }] },
      { role: 'assistant', content: [{ text: 'Hello from the scripted model.' }] },
      { role: 'user', content: [{ text: 'And?' }] },
    ]);
  });

  it('with store: false is found for a while, but cannot be continued', async () => {
    proxy.use(hello);
    const { id } = await inBackground({ store: false });
    const response = await whenEnded(id);
    expect(response).toMatchObject({
      status: 'completed',
      store: false,
      output_text: 'Hello from the scripted model.',
    });
    expect(
      await refusal(openai.responses.create({ model: 'gpt-5.5', input: 'And?', previous_response_id: id })),
    ).toMatchObject({ status: 400, code: 'previous_response_not_found' });
  });

  it('that fails says so itself: only invalid requests are HTTP errors', async () => {
    proxy.use((_, connection) =>
      connection.reply(400, { error: { message: 'Too rude.', type: 'invalid_request_error', code: 'rude' } }),
    );
    const rejected = await whenEnded((await inBackground()).id);
    expect(rejected).toMatchObject({
      status: 'failed',
      error: { code: 'invalid_prompt', message: expect.stringContaining('Too rude.') as unknown },
      output: [],
    });
    validateResponse(rejected);
    proxy.use(says([{ text: 'Half' }, { fail: { code: 'server_error', message: 'Broken.' } }]));
    expect(await whenEnded((await inBackground()).id)).toMatchObject({
      status: 'failed',
      error: { code: 'server_error' },
      output_text: 'Half',
    });
    expect(await refusal(inBackground({ temperature: 7 }))).toMatchObject({
      status: 400,
      param: 'temperature',
    });
    expect(await refusal(inBackground({ previous_response_id: 'resp_none' }))).toMatchObject({
      status: 400,
      code: 'previous_response_not_found',
    });
  });

  it('goes on when the client that polls it leaves', async () => {
    proxy.use(says([{ text: 'a b c d e f', delayMs: 30 }]));
    const { id } = await inBackground();
    const leaving = new AbortController();
    const poll = openai.responses.retrieve(id, {}, { signal: leaving.signal });
    leaving.abort();
    await expect(poll).rejects.toThrow('aborted');
    expect(await whenEnded(id)).toMatchObject({ status: 'completed', output_text: 'a b c d e f' });
  });

  it('that is deleted stops', async () => {
    proxy.use(hangs);
    const { id } = await inBackground();
    await until(() => proxy.model.activeRequests() > 0);
    await openai.responses.delete(id);
    await until(() => proxy.model.activeRequests() === 0);
    expect(await refusal(openai.responses.retrieve(id))).toMatchObject({ status: 404 });
  });

  it('needs a store', async () => {
    const without = await started(hello, { PROXY_STORE: 'off' });
    expect(await refusal(inBackground({}, without.openai))).toEqual({
      status: 400,
      message:
        "Unsupported parameter: 'background'. This server stores nothing (PROXY_STORE=off), so a background response could not be retrieved.",
      ...WRONG,
      param: 'background',
      code: 'unsupported_parameter',
    });
  });
});

describe('POST /v1/responses/{id}/cancel', () => {
  it('stops the model, and answers with the response', async () => {
    proxy.use(hangs);
    const queued = await inBackground();
    await whenRunning(queued.id);
    await until(() => proxy.model.activeRequests() > 0);
    const cancelled = await openai.responses.cancel(queued.id);
    expect(cancelled).toEqual({ ...queued, status: 'cancelled', output_text: undefined });
    validateResponse(cancelled);
    await until(() => proxy.model.activeRequests() === 0);
    expect(await openai.responses.cancel(queued.id)).toEqual(cancelled);
    expect(sent(await openai.responses.retrieve(queued.id))).toEqual(cancelled);
  });

  it('leaves a response that has ended as it is', async () => {
    proxy.use(hello);
    const response = await whenEnded((await inBackground()).id);
    expect(await openai.responses.cancel(response.id)).toEqual(sent(response));
  });

  it('refuses what was not started in the background, and what is unknown', async () => {
    proxy.use(hello);
    const foreground = await openai.responses.create({ model: 'gpt-5.5', input: 'Hi.' });
    expect(await refusal(openai.responses.cancel(foreground.id))).toEqual({
      status: 400,
      message: 'Cannot cancel a synchronous response.',
      ...WRONG,
    });
    const { id } = await inBackground();
    for (const [client, unknown] of [
      [openai, 'resp_unknown'],
      [stranger, id],
    ] as const) {
      expect(await refusal(client.responses.cancel(unknown))).toEqual({
        status: 404,
        message: `Response with id '${unknown}' not found.`,
        ...WRONG,
      });
    }
    await whenEnded(id);
  });
});

describe('background responses', () => {
  it('wait while others run, up to a limit', async () => {
    const own = await started(hangs, {
      PROXY_MAX_CONCURRENT_TURNS: '1',
      PROXY_MAX_BACKGROUND_RESPONSES: '2',
    });
    const metrics = async (): Promise<string> => (await own.get('/metrics')).text();
    const first = await inBackground({}, own.openai);
    await until(() => own.model.activeRequests() === 1);
    const second = await inBackground({}, own.openai);
    expect(await refusal(inBackground({}, own.openai))).toMatchObject({
      status: 429,
      type: 'rate_limit_error',
      code: 'background_limit',
    });
    expect((await own.openai.responses.retrieve(second.id)).status).toBe('queued');
    own.use(hello);
    const foreground = own.openai.responses.create({ model: 'gpt-5.5', input: 'Hi.' });
    await until(async () => (await metrics()).includes('proxy_turns_queued 1'));
    await own.openai.responses.cancel(first.id);
    expect((await foreground).status).toBe('completed');
    expect(await whenEnded(second.id, own.openai)).toMatchObject({ status: 'completed' });
    await until(async () => (await metrics()).includes('proxy_background_running 0'));
  });

  it('that still run when the server stops have failed', async () => {
    const own = await started(hangs, {});
    const { id } = await inBackground({}, own.openai);
    await until(() => own.model.activeRequests() === 1);
    await own.app.stop(0);
    expect(own.log.filter(({ msg }) => msg === 'background response')).toMatchObject([{ responseId: id }]);
  });
});
