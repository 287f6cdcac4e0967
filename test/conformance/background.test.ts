import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';

import { freshProxies, openProxy } from '../support/open-proxy.ts';
import { validateResponse } from '../support/schema.ts';
import { hello, says } from '../support/scripts.ts';
import { until } from '../support/until.ts';
import { hangs, inBackground, refusal, whenEnded } from './background-ask.ts';

type Response = OpenAI.Responses.Response;

const OTHER_KEY = 'sk-other-key-0123456789';
const proxy = await openProxy(hello, { PROXY_API_KEY: `sk-test-key-0123456789,${OTHER_KEY}` });
const { openai } = proxy;
const stranger = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: OTHER_KEY, maxRetries: 0 });
const started = freshProxies();

const whenRunning = (id: string): Promise<void> =>
  until(async () => (await openai.responses.retrieve(id)).status === 'in_progress');

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
    const queued = await inBackground(openai, { metadata: { a: 'b' } });
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
    const response = await whenEnded(openai, queued.id);
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
    const running = await inBackground(openai);
    const follow = (id: string) =>
      openai.responses.create({ model: 'gpt-5.5', input: 'And?', previous_response_id: id });
    expect(await refusal(follow(running.id))).toMatchObject({ status: 400, param: 'previous_response_id' });
    await openai.responses.cancel(running.id);
    expect(await refusal(follow(running.id))).toMatchObject({ code: 'previous_response_not_found' });
    proxy.use(hello);
    const first = await whenEnded(openai, (await inBackground(openai)).id);
    const second = await inBackground(openai, { input: 'And?', previous_response_id: first.id });
    expect(await whenEnded(openai, second.id)).toMatchObject({
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
    const { id } = await inBackground(openai, { store: false });
    const response = await whenEnded(openai, id);
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
    const rejected = await whenEnded(openai, (await inBackground(openai)).id);
    expect(rejected).toMatchObject({
      status: 'failed',
      error: { code: 'invalid_prompt', message: expect.stringContaining('Too rude.') as unknown },
      output: [],
    });
    validateResponse(rejected);
    proxy.use(says([{ text: 'Half' }, { fail: { code: 'server_error', message: 'Broken.' } }]));
    expect(await whenEnded(openai, (await inBackground(openai)).id)).toMatchObject({
      status: 'failed',
      error: { code: 'server_error' },
      output_text: 'Half',
    });
    expect(await refusal(inBackground(openai, { temperature: 7 }))).toMatchObject({
      status: 400,
      param: 'temperature',
    });
    expect(await refusal(inBackground(openai, { previous_response_id: 'resp_none' }))).toMatchObject({
      status: 400,
      code: 'previous_response_not_found',
    });
  });

  it('goes on when the client that polls it leaves', async () => {
    proxy.use(says([{ text: 'a b c d e f', delayMs: 30 }]));
    const { id } = await inBackground(openai);
    const leaving = new AbortController();
    const poll = openai.responses.retrieve(id, {}, { signal: leaving.signal });
    leaving.abort();
    await expect(poll).rejects.toThrow('aborted');
    expect(await whenEnded(openai, id)).toMatchObject({ status: 'completed', output_text: 'a b c d e f' });
  });

  it('that is deleted stops', async () => {
    proxy.use(hangs);
    const { id } = await inBackground(openai);
    await until(() => proxy.model.activeRequests() > 0);
    await openai.responses.delete(id);
    await until(() => proxy.model.activeRequests() === 0);
    expect(await refusal(openai.responses.retrieve(id))).toMatchObject({ status: 404 });
  });

  it('needs a store', async () => {
    const without = await started(hello, { PROXY_STORE: 'off' });
    expect(await refusal(inBackground(without.openai))).toEqual({
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
    const queued = await inBackground(openai);
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
    const response = await whenEnded(openai, (await inBackground(openai)).id);
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
    const { id } = await inBackground(openai);
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
    await whenEnded(openai, id);
  });
});

describe('background responses', () => {
  it('wait while others run, up to a limit', async () => {
    const own = await started(hangs, {
      PROXY_MAX_CONCURRENT_TURNS: '1',
      PROXY_MAX_BACKGROUND_RESPONSES: '2',
    });
    const metrics = async (): Promise<string> => (await own.get('/metrics')).text();
    // A key that was revoked takes no share of the limit.
    const made = await own.post('/v1/codex/keys', { name: 'revoked' });
    const { id: revoked } = (await made.json()) as { readonly id: string };
    const headers = { authorization: `Bearer ${own.key}` };
    await fetch(`${own.url}/v1/codex/keys/${revoked}`, { method: 'DELETE', headers });
    const first = await inBackground(own.openai);
    await until(() => own.model.activeRequests() === 1);
    const second = await inBackground(own.openai);
    expect(await refusal(inBackground(own.openai))).toMatchObject({
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
    expect(await whenEnded(own.openai, second.id)).toMatchObject({ status: 'completed' });
    await until(async () => (await metrics()).includes('proxy_background_running 0'));
  });

  it('of a conversation keep it locked until they end', async () => {
    const own = await started(hangs, { PROXY_CONVERSATION_WAIT_MS: '100' });
    const { id: conversation } = await own.openai.conversations.create();
    const { id } = await inBackground(own.openai, { conversation });
    await until(() => own.model.activeRequests() === 1);
    const ask = { model: 'gpt-5.5', input: 'Me too.', conversation };
    expect(await refusal(own.openai.responses.create(ask))).toMatchObject({
      status: 400,
      code: 'conversation_locked',
    });
    expect(await refusal(inBackground(own.openai, ask))).toMatchObject({ code: 'conversation_locked' });
    own.use(hello);
    await own.openai.responses.cancel(id);
    await until(async () => (await refusal(own.openai.responses.create(ask))) instanceof Object);
    await until(async () => (await own.openai.conversations.items.list(conversation)).data.length >= 2);
    const { id: last } = await inBackground(own.openai, { ...ask, store: false });
    expect(await whenEnded(own.openai, last)).toMatchObject({
      status: 'completed',
      conversation: { id: conversation },
    });
    const { data } = await own.openai.conversations.items.list(conversation, { order: 'asc' });
    expect(data.map((item) => item.type === 'message' && item.role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
    ]);
  });
});
