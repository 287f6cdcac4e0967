import { afterEach, describe, expect, it } from 'vitest';
import { collectSse } from '../../test/support/sse.ts';
import { startModelServer } from './model-server.ts';
import type { ModelServer, ModelServerOptions, RecordedRequest, Script } from './model-server.ts';

let server: ModelServer | null = null;
afterEach(async () => {
  await server?.close();
  server = null;
});

const start = async (
  script: Script,
  options: Omit<ModelServerOptions, 'script'> = {},
): Promise<ModelServer> => {
  server = await startModelServer({ script, ...options });
  return server;
};

const post = (target: ModelServer, body: unknown, init: RequestInit = {}): Promise<Response> =>
  fetch(`${target.baseUrl}/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'thread-id': 't1' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...init,
  });

const ask = { model: 'm', input: 'hi', stream: true };

const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
};

describe('the model server', () => {
  it('runs the script and ends the stream after it', async () => {
    const target = await start((request, connection) => {
      connection.event({ type: 'a', model: request.body['model'] });
      connection.write(': a comment\n\n');
      connection.event({ type: 'b', thread: request.headers['thread-id'] ?? null });
    });
    const response = await post(target, ask);
    expect({
      status: response.status,
      type: response.headers.get('content-type'),
      frames: await collectSse(response),
    }).toEqual({
      status: 200,
      type: 'text/event-stream',
      frames: [
        { event: 'a', data: '{"type":"a","model":"m"}' },
        { event: 'b', data: '{"type":"b","thread":"t1"}' },
      ],
    });
  });

  it('sends an HTTP error with its headers', async () => {
    const target = await start((_request, connection) =>
      connection.reply(429, { error: { message: 'slow down' } }, { 'retry-after': '7' }),
    );
    const response = await post(target, ask);
    expect([response.status, response.headers.get('retry-after'), await response.json()]).toEqual([
      429,
      '7',
      { error: { message: 'slow down' } },
    ]);
  });

  it('sends headers of the stream before any event', async () => {
    const target = await start(async (_request, connection) => {
      connection.open({ 'x-limit': '3' });
      await connection.hang();
    });
    const gone = new AbortController();
    const response = await post(target, ask, { signal: gone.signal });
    expect(response.headers.get('x-limit')).toBe('3');
    gone.abort();
    await until(() => target.activeRequests() === 0);
  });

  it.each([
    ['not JSON', '{', 400, 'The body is not a JSON object.', null],
    ['not an object', '[]', 400, 'The body is not a JSON object.', null],
    ['not a stream', { ...ask, stream: false }, 400, 'This server only streams.', 'stream'],
  ])('refuses a body that is %s', async (_name, body, status, message, param) => {
    const response = await post(await start(() => {}), body);
    expect([response.status, await response.json()]).toEqual([
      status,
      { error: { message, type: 'invalid_request_error', param, code: null } },
    ]);
  });

  it('lists models and rejects unknown routes', async () => {
    const { baseUrl } = await start(() => {});
    const models = await fetch(`${baseUrl}/models?client_version=1`);
    const unknown = await fetch(`${baseUrl}/files`);
    expect([await models.json(), unknown.status, await unknown.json()]).toEqual([
      {
        object: 'list',
        data: [{ id: 'demo', object: 'model', created: 0, owned_by: 'codex-app-server-proxy' }],
      },
      404,
      {
        error: {
          message: 'Unknown request URL: GET /v1/files.',
          type: 'invalid_request_error',
          param: null,
          code: 'unknown_url',
        },
      },
    ]);
  });

  it('records the newest requests, and only if configured', async () => {
    const seen: RecordedRequest[] = [];
    const target = await start(() => {}, { keepRequests: 2, record: (request) => seen.push(request) });
    for (const input of ['1', '2', '3']) await (await post(target, { ...ask, input })).text();
    expect([target.requests.map((one) => one.body['input']), seen.map((one) => one.body['input'])]).toEqual([
      ['2', '3'],
      ['1', '2', '3'],
    ]);
    expect([await seen[0]?.ended, seen[0]?.ending, seen[0]?.aborted]).toEqual([
      'finished',
      'finished',
      false,
    ]);

    await target.close();
    const forgetful = await start(() => {});
    await (await post(forgetful, ask)).text();
    expect(forgetful.requests).toEqual([]);
  });

  it('reports a disconnected caller to the script and in the record', async () => {
    let scriptSaw = false;
    const target = await start(
      async (request, connection) => {
        connection.event({ type: 'a' });
        await connection.hang();
        scriptSaw = request.signal.aborted && connection.closed;
      },
      { keepRequests: 1 },
    );
    const gone = new AbortController();
    const response = await post(target, ask, { signal: gone.signal });
    gone.abort();
    const record = target.requests[0];
    expect([response.status, await record?.ended, record?.ending, record?.aborted]).toEqual([
      200,
      'aborted',
      'aborted',
      true,
    ]);
    // The socket closes a moment after its last request has ended.
    await until(() => target.activeRequests() === 0 && target.openConnections() === 0);
    expect(scriptSaw).toBe(true);
  });

  it('ends a wait when the caller disconnects', async () => {
    const target = await start((_request, connection) => connection.wait(600_000), { keepRequests: 1 });
    const gone = new AbortController();
    const answer = post(target, ask, { signal: gone.signal });
    await until(() => target.activeRequests() === 1);
    gone.abort();
    await expect(answer).rejects.toThrow('aborted');
    await until(() => target.activeRequests() === 0);
    expect(target.requests[0]?.ending).toBe('aborted');
  });

  it('cuts the connection, which the caller sees as a broken body', async () => {
    const target = await start(
      async (_request, connection) => {
        connection.event({ type: 'a' });
        await connection.flush();
        connection.destroy();
        connection.event({ type: 'never' });
      },
      { keepRequests: 1 },
    );
    const response = await post(target, ask);
    await expect(response.text()).rejects.toThrow('terminated');
    expect([await target.requests[0]?.ended, target.requests[0]?.aborted]).toEqual(['cut', false]);
  });

  it('reports a script that throws, and still answers', async () => {
    const errors: unknown[] = [];
    const broken = new Error('a mistake in the script');
    const target = await start(
      (request, connection) => {
        if (request.body['input'] === 'late') connection.open();
        throw broken;
      },
      { onScriptError: (error) => errors.push(error) },
    );
    const early = await post(target, ask);
    expect([early.status, await early.json()]).toEqual([
      500,
      { error: { message: 'The script failed.', type: 'server_error', param: null, code: null } },
    ]);
    await expect(post(target, { ...ask, input: 'late' }).then((late) => late.text())).rejects.toThrow(
      'fetch failed',
    );
    expect(errors).toEqual([broken, broken]);
  });

  it('applies backpressure to a slow reader', async () => {
    const chunk = `data: ${'x'.repeat(100_000)}\n\n`;
    let written = 0;
    const target = await start(
      async (_request, connection) => {
        for (; written < 1000 && !connection.closed; written += 1) {
          connection.write(chunk);
          await connection.flush();
        }
      },
      { keepRequests: 1 },
    );
    const gone = new AbortController();
    const response = await post(target, ask, { signal: gone.signal });
    let before = -1;
    while (written !== before) {
      before = written;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    // The answer has 100 MB; the buffers of the kernel and both ends hold far less.
    expect(written).toBeLessThan(500);
    gone.abort();
    expect([response.status, await target.requests[0]?.ended]).toEqual([200, 'aborted']);
    await until(() => target.activeRequests() === 0);
  });

  it('closes while answers are in progress, and can be closed twice', async () => {
    const target = await start((_request, connection) => connection.hang());
    const answer = post(target, ask);
    await until(() => target.activeRequests() === 1);
    await Promise.all([expect(answer).rejects.toThrow('fetch failed'), target.close()]);
    await target.close();
    await until(() => target.activeRequests() === 0);
    expect(target.openConnections()).toBe(0);
  });
});
