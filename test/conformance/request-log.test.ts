import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { openSocket } from '../support/client-socket.ts';
import { openProxy } from '../support/open-proxy.ts';
import { startProxy } from '../support/proxy.ts';
import { hello, http429, slow } from '../support/scripts.ts';
import { readSse } from '../support/sse.ts';

const directory = await mkdtemp(path.join(tmpdir(), 'request-log-'));
afterAll(() => rm(directory, { recursive: true, force: true }));
const proxy = await openProxy(hello, { PROXY_CAPTURE_DIR: directory });

interface Shown {
  readonly id: string;
  readonly request_id: string;
  readonly state: string;
  readonly background: boolean;
  readonly client: string;
  readonly key: { readonly id: string };
  readonly started_at: number;
  readonly status: number;
  readonly route: string;
}

interface Captured {
  readonly client_body: { readonly text: string };
  readonly model_requests: readonly { readonly text: string }[];
}

interface Replayed {
  readonly id: string;
  readonly status: number;
  readonly text: string;
}

const list = async (query: string): Promise<readonly Shown[]> =>
  ((await (await proxy.get(`/v1/codex/requests?${query}`)).json()) as { data: readonly Shown[] }).data;
const show = async (id: string): Promise<JsonObject> =>
  (await (await proxy.get(`/v1/codex/requests/${id}`)).json()) as JsonObject;
const ask = async (requestId: string, more: object = {}, script: Script = hello): Promise<Response> => {
  proxy.use(script);
  const body = { model: 'gpt-5.5', input: 'hi', ...more };
  return proxy.post('/v1/responses', body, { headers: { 'x-request-id': requestId } });
};

const NUMBER = expect.any(Number) as unknown;
const TEXT = expect.any(String) as unknown;

describe('the request log', () => {
  it('has a request that has ended, with everything but its content', async () => {
    const { id } = (await (await ask('log-1', { seed: 7 })).json()) as { id: string };
    const [shown] = await list('q=log-1');
    expect(shown).toEqual({
      object: 'codex.request',
      id: expect.stringMatching(/^rql_[\da-z]{9}[\da-f]{16}$/) as unknown,
      request_id: 'log-1',
      response_id: id,
      instance: TEXT,
      state: 'ended',
      method: 'POST',
      route: '/v1/responses',
      transport: 'http',
      upstream_transport: 'http',
      started_at: NUMBER,
      duration_ms: NUMBER,
      first_event_ms: NUMBER,
      first_delta_ms: NUMBER,
      status: 200,
      outcome: 'completed',
      stream: false,
      background: false,
      key: { id: expect.stringMatching(/^key_/) as unknown, name: null },
      client: TEXT,
      model: 'gpt-5.5',
      served_model: null,
      usage: { input_tokens: 11, cached_tokens: 3, output_tokens: 7, reasoning_tokens: 1 },
      ignored_params: ['seed'],
      retries: 0,
      error: null,
      captured: true,
      replay_of: null,
      run: null,
    });
    const details = await show(id);
    expect(details).toMatchObject({ ...shown, size: { items: 1, tools: 0, images: 0 }, spans_dropped: 0 });
    expect((details['spans'] as readonly JsonObject[]).map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        'read',
        'plan',
        'queue',
        'attempt',
        'app-server',
        'model-request',
        'first-delta',
        'end',
        'store',
      ]),
    );
    const { capture, ...metadata } = details;
    expect(JSON.stringify(metadata)).not.toMatch(/Hello from|"hi"/);
    expect(capture).toMatchObject({ status: 'captured', path: '/v1/responses', partial: false });
    const { client_body: sent, model_requests: passedOn } = capture as unknown as Captured;
    expect(JSON.parse(sent.text)).toEqual({ model: 'gpt-5.5', input: 'hi', seed: 7 });
    expect(JSON.stringify(passedOn)).toContain('hi');
  });

  it('says why a request failed', async () => {
    await (await ask('log-429', {}, http429(1))).text();
    await (await ask('log-400', { input: 5 })).text();
    await (await proxy.get('/v1/nothing')).text();
    const [limited] = await list('q=log-429');
    expect(limited).toMatchObject({
      status: 429,
      error: { code: 'rate_limit_exceeded', source: 'backend', upstream_status: 429, message: TEXT },
    });
    const [wrong] = await list('q=log-400');
    expect(wrong).toMatchObject({
      status: 400,
      error: { source: 'client', param: 'input', upstream_status: null },
    });
    const failed = await list('status=4xx&limit=3');
    expect(failed.map(({ status, route }) => [status, route])).toEqual([
      [404, '(unknown)'],
      [400, '/v1/responses'],
      [429, '/v1/responses'],
    ]);
    expect(await list('status=failed&error=rate_limit_exceeded')).toEqual([limited]);
  });

  it('finds by model, key and time, and goes on after a request', async () => {
    for (const name of ['page-1', 'page-2', 'page-3']) await (await ask(name)).text();
    const [newest, middle] = await list('q=page-&limit=2');
    expect([newest?.request_id, middle?.request_id]).toEqual(['page-3', 'page-2']);
    const rest = await list(`q=page-&after=${middle?.id}`);
    expect(rest.map((shown) => shown.request_id)).toEqual(['page-1']);
    const key = newest?.key.id;
    const since = `from=${newest?.started_at}`;
    expect(await list(`${since}&key=${key}&model=gpt-5.5&client=${newest?.client}`)).toEqual([newest]);
    expect(await list(`${since}&key=other`)).toEqual([]);
  });

  it.each(['limit=0', 'status=6xx', 'from=yesterday'])('refuses %s', async (query) => {
    const answer = await proxy.get(`/v1/codex/requests?${query}`);
    const { error } = (await answer.json()) as { error: JsonObject };
    expect([answer.status, error['param']]).toEqual([400, query.split('=')[0]]);
  });

  it('does not know other ids', async () => {
    const answer = await proxy.get('/v1/codex/requests/rql_none');
    expect([answer.status, await answer.json()]).toEqual([
      404,
      { error: expect.objectContaining({ code: 'unknown_request' }) as unknown },
    ]);
  });
});

describe('requests of other kinds', () => {
  it('over a WebSocket have their transport', async () => {
    const socket = await openSocket(proxy, { headers: { 'x-request-id': 'socket-1' } });
    await socket.create({ model: 'gpt-5.5', input: 'hi' });
    socket.ws.close();
    await expect.poll(async () => (await list('q=socket-1')).length).toBe(1);
    expect(await list('q=socket-1')).toMatchObject([
      {
        request_id: 'socket-1.1',
        transport: 'websocket',
        method: 'WEBSOCKET',
        status: 200,
        outcome: 'completed',
      },
    ]);
  });

  it('in the background are two: the request, and its run', async () => {
    const { id } = (await (await ask('background-1', { background: true })).json()) as { id: string };
    await expect.poll(async () => (await list('q=background-1')).length).toBe(2);
    const rows = await list(`q=${id}`);
    expect(rows).toMatchObject([{ response_id: id }, { response_id: id }]);
    const run = rows.find((row) => row.background);
    expect(run).toMatchObject({
      captured: true,
      outcome: 'completed',
      usage: { input_tokens: 11 },
      first_delta_ms: NUMBER,
    });
  });

  it('of a named key have its name, and only some scopes read them', async () => {
    const created = await proxy.post('/v1/codex/keys', { name: 'Robot', scopes: ['infer'] });
    const { key, id } = (await created.json()) as { key: string; id: string };
    const headers = { authorization: `Bearer ${key}`, 'x-request-id': 'robot-1' };
    await (await proxy.post('/v1/responses', { model: 'gpt-5.5', input: 'hi' }, { headers })).text();
    expect(await list(`key=${id}`)).toMatchObject([{ request_id: 'robot-1', key: { id, name: 'Robot' } }]);
    expect((await proxy.send('/v1/codex/requests', { headers })).status).toBe(403);
    const reader = await proxy.post('/v1/codex/keys', { name: 'Reader', scopes: ['read'] });
    const readers = { authorization: `Bearer ${((await reader.json()) as { key: string }).key}` };
    expect((await proxy.send('/v1/codex/requests', { headers: readers })).status).toBe(200);
    expect((await proxy.post('/v1/codex/requests/robot-1/replay', {}, { headers: readers })).status).toBe(
      403,
    );
  });
});

describe('live requests', () => {
  it('end when the server stops', async () => {
    const stopping = await startProxy(hello);
    const stream = await stopping.get('/v1/codex/requests/live');
    const text = stream.text();
    await stopping.close();
    expect(await text).toMatch(/^event: snapshot\ndata: \{.*\}\n\n$/);
  });

  it('are shown from their start to their end, also those that run already', async () => {
    const early = ask('live-0', { stream: true }, slow(100));
    await expect.poll(async () => (await list('status=running')).length).toBe(1);
    const gone = new AbortController();
    const stream = await proxy.send('/v1/codex/requests/live', { signal: gone.signal });
    expect(stream.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const seen: string[] = [];
    const reading = (async () => {
      for await (const { event, data } of readSse(stream.body!)) {
        const message = JSON.parse(data) as Shown & { readonly data: readonly Shown[] };
        const all = event === 'snapshot' ? message.data : [message];
        for (const one of all) seen.push(`${event} ${one.request_id} ${one.state}`);
      }
    })().catch(() => {});
    await expect.poll(() => seen[0]).toBe('snapshot live-0 running');
    await (await ask('live-1', { stream: true }, slow(30))).text();
    await (await early).text();
    await expect
      .poll(() => seen)
      .toEqual(expect.arrayContaining(['request.ended live-0 ended', 'request.ended live-1 ended']));
    expect(seen.find((one) => one.includes('live-1'))).toBe('request.started live-1 running');
    gone.abort();
    await reading;
  });
});

describe('replay', () => {
  it('sends a captured request again, as a new one that stores nothing', async () => {
    await (await ask('again-1', { metadata: { a: 'b' } })).text();
    const answer = await proxy.post('/v1/codex/requests/again-1/replay', {});
    const replayed = (await answer.json()) as Replayed;
    const [original] = await list('q=again-1');
    expect(replayed).toEqual({
      object: 'codex.request.replay',
      replay_of: original?.id,
      id: TEXT,
      request_id: TEXT,
      status: 200,
      outcome: 'completed',
      changes: ['`store` is false: nothing of a replay is stored.'],
      content_type: 'application/json',
      text: expect.stringContaining('Hello from the scripted model.') as unknown,
      truncated: false,
    });
    const made = JSON.parse(replayed.text) as { id: string; store: boolean; metadata: object };
    expect([made.store, made.metadata]).toEqual([false, { a: 'b' }]);
    expect((await proxy.get(`/v1/responses/${made.id}`)).status).toBe(404);
    expect(await show(replayed.id)).toMatchObject({ replay_of: original?.id, status: 200 });
  });

  it('reports the failure of the new request as its result', async () => {
    await (await ask('again-2', { stream: true })).text();
    proxy.use(http429(1));
    const answer = await proxy.post('/v1/codex/requests/again-2/replay', {});
    expect([answer.status, await answer.json()]).toEqual([
      200,
      expect.objectContaining({
        status: 429,
        text: expect.stringContaining('rate_limit_exceeded') as unknown,
      }),
    ]);
  });

  it('refuses a request that would change a conversation, or that was not captured', async () => {
    const conversation = (await (await proxy.post('/v1/conversations', {})).json()) as { id: string };
    await (await ask('again-3', { conversation: conversation.id })).text();
    await (await proxy.get('/v1/not-a-turn')).text();
    const [unknown] = await list('limit=1');
    for (const [id, why] of [
      ['again-3', 'conversation'],
      [unknown?.id, 'not captured'],
    ]) {
      const answer = await proxy.post(`/v1/codex/requests/${id}/replay`, {});
      const { error } = (await answer.json()) as { error: JsonObject };
      expect([answer.status, error['code'], error['message']]).toEqual([
        409,
        'request_not_replayable',
        expect.stringContaining(why ?? ''),
      ]);
    }
  });
});
