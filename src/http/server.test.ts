import { describe, expect, it } from 'vitest';

import { accessLine, KEY, route, serveRoutes } from '../../test/support/serve-routes.ts';
import { gatewayError, GatewayError, failure, type Failure } from '../canonical/failure/failure.ts';
import type { Exchange } from './exchange/exchange.ts';
import { INFER_OR_READ } from './guards/scopes.ts';
import type { Route } from './route.ts';

describe('a request', () => {
  it('is answered by its route with its id, and logged once', async () => {
    const { send, log } = serveRoutes([route(() => Response.json({ ok: true }))]);
    const answer = await send('/thing', KEY);
    expect([answer.status, answer.headers.get('x-request-id'), await answer.json()]).toEqual([
      200,
      'req_minted1',
      { ok: true },
    ]);
    expect(log).toEqual([accessLine({})]);
  });

  it('is counted by the pattern of its route', async () => {
    const { send, metrics } = serveRoutes([
      route((_, __, params) => Response.json(params), { path: '/thing/:id{.+}' }),
    ]);
    expect(await (await send('/thing/a/b', KEY)).json()).toEqual({ id: 'a/b' });
    expect(await metrics.print()).toMatch(/requests_total\{route="\/thing\/:id",status="200"\} 1/);
  });

  it('without a key does not reach its route', async () => {
    let isReached = false;
    const { send, log } = serveRoutes([
      route(() => {
        isReached = true;
        return new Response();
      }),
    ]);
    expect([(await send('/thing')).status, isReached]).toEqual([401, false]);
    expect(log).toEqual([accessLine({ status: 401, keyId: null, errorCode: 'invalid_api_key' })]);
  });

  it('gets errors in the form of the API that its route belongs to, also without a key', async () => {
    const errors = ({ code, status }: Failure) => ({ status, headers: {}, body: { type: 'error', code } });
    const fails = route(
      () => {
        throw gatewayError('unknown_url');
      },
      { errors },
    );
    const { send } = serveRoutes([fails]);
    const answers = [await send('/thing', KEY), await send('/thing')];
    expect(await Promise.all(answers.map((answer) => answer.json()))).toEqual([
      { type: 'error', code: 'unknown_url' },
      { type: 'error', code: 'invalid_api_key' },
    ]);
  });

  it('of an open route needs no key', async () => {
    const { send } = serveRoutes([route(() => new Response('ok'), { access: 'open' })]);
    expect((await send('/thing')).status).toBe(200);
  });

  it('gets an error for an unknown path or method', async () => {
    const { send, log } = serveRoutes([
      route(() => new Response()),
      route(() => new Response(), { method: 'POST' }),
    ]);
    const [lost, wrong] = [await send('/other?x=1'), await send('/thing', { method: 'DELETE' })];
    expect([lost.status, wrong.status, wrong.headers.get('allow')]).toEqual([404, 405, 'GET, POST']);
    expect(log).toMatchObject([
      { route: '(unknown)', status: 404, errorCode: 'unknown_url' },
      { route: '/thing', status: 405 },
    ]);
  });

  it('for the head alone ends a stream that no one would read', async () => {
    let isLeft = false;
    const stream = (): Response => new Response(new ReadableStream({ cancel: () => void (isLeft = true) }));
    const { send } = serveRoutes([route(stream)]);
    const answer = await send('/thing', { ...KEY, method: 'HEAD' });
    expect([answer.status, answer.body, isLeft]).toEqual([200, null, true]);
  });

  it('for a WebSocket gets 426', async () => {
    const { send } = serveRoutes([route(() => new Response(), { path: '/v1/responses', method: 'POST' })]);
    const answer = await send('/v1/responses', { headers: { upgrade: 'WebSocket' } });
    expect([answer.status, await answer.json()]).toMatchObject([
      426,
      { error: { code: 'websocket_not_supported' } },
    ]);
  });

  it('with a wrong method is counted under the path pattern', async () => {
    const { send, log, metrics } = serveRoutes([route(() => new Response(), { path: '/things/:id{.+}' })]);
    await send('/things/a/b', KEY);
    await send('/things/a/b', { method: 'DELETE' });
    expect(log).toMatchObject([
      { route: '/things/:id', status: 200 },
      { route: '/things/:id', status: 405 },
    ]);
    const counted = await metrics.requests.get();
    expect(counted.values.map((one) => one.labels)).toEqual([
      { route: '/things/:id', status: '200' },
      { route: '/things/:id', status: '405' },
    ]);
  });
});

describe('the base URL of a client', () => {
  const SERVED = ['/v1/completions', '/v1/chat/completions', '/v1/models/:id', '/healthz'];
  const hintFor = async (path: string, method = 'POST'): Promise<string | undefined> => {
    const { send } = serveRoutes(
      SERVED.map((one) => route(() => new Response(), { path: one, method: 'POST' })),
    );
    const { error } = (await (await send(path, { method })).json()) as { error: { message: string } };
    return /Use (.*): the base URL/.exec(error.message)?.[1];
  };

  it.each([
    ['without its end', '/chat/completions', '/v1/chat/completions'],
    ['with its end twice', '/v1/v1/chat/completions', '/v1/chat/completions'],
    ['that is a whole URL', '/v1/chat/completions/chat/completions', '/v1/chat/completions'],
    ['of another service', '/openai/deployments/x/completions', '/v1/completions'],
    ['and a slash at the end', '/v1/completions/', '/v1/completions'],
    ['that is right', '/v1/responses/compact', undefined],
    ['of something without /v1', '/v1/healthz', undefined],
  ])('%s', async (_, path, expected) => {
    expect(await hintFor(path)).toBe(expected);
  });

  it('gets no hint if the method is not served either', async () => {
    expect(await hintFor('/v1/organization/usage/completions', 'GET')).toBe(undefined);
  });
});

describe('a route that throws', () => {
  it('a failure: answers with its status, body, retry-after and headers', async () => {
    const { send, log } = serveRoutes([
      route(() => {
        throw gatewayError('insufficient_quota', { message: 'Used up.', retryAfterSeconds: 7 });
      }),
    ]);
    const answer = await send('/thing', KEY);
    expect([answer.status, answer.headers.get('retry-after'), answer.headers.get('x-should-retry')]).toEqual([
      429,
      '7',
      'false',
    ]);
    expect(await answer.json()).toEqual({
      error: { message: 'Used up.', type: 'insufficient_quota', param: null, code: 'insufficient_quota' },
    });
    expect(log).toEqual([accessLine({ status: 429, errorCode: 'insufficient_quota' })]);
  });

  it('a bug: answers 500 without details, which are logged', async () => {
    const { send, log } = serveRoutes([
      route(() => {
        throw new TypeError('secret of the house');
      }),
    ]);
    const answer = await send('/thing', KEY);
    expect([answer.status, await answer.text()]).toEqual([500, expect.not.stringContaining('secret')]);
    expect(log).toMatchObject([
      {
        level: 'error',
        msg: 'request failed',
        requestId: 'req_minted1',
        err: { type: 'TypeError', message: 'secret of the house' },
      },
      { msg: 'request', status: 500, errorCode: 'server_error' },
    ]);
  });

  it('a failure caused by a bug: logs the cause', async () => {
    const { send, log } = serveRoutes([
      route(() => {
        throw new GatewayError(failure('server_error'), { cause: new Error('the cause') });
      }),
    ]);
    await send('/thing', KEY);
    expect(log[0]).toMatchObject({ level: 'error', err: { message: 'the cause' } });
  });

  it('a client disconnect: logs a status and no error', async () => {
    const client = new AbortController();
    const { send, log } = serveRoutes([
      route(async (_, { signal }) => {
        client.abort();
        signal.throwIfAborted();
        return new Response();
      }),
    ]);
    await send('/thing', { ...KEY, signal: client.signal });
    expect(log).toEqual([accessLine({ status: 499 })]);
  });
});

describe('the time of the last request of a client', () => {
  it('is now while a client waits for its answer, and is not changed by dashboards and probes', async () => {
    let release = (): void => {};
    const holds: Route['handle'] = (_, exchange) => {
      release = exchange.hold();
      return new Response();
    };
    const { server, send, clock } = serveRoutes([
      route(holds),
      route(holds, { path: '/live', scopes: ['read'] }),
      route(holds, { path: '/models', scopes: INFER_OR_READ }),
      route(holds, { path: '/metrics', access: 'local' }),
      route(holds, { path: '/health', access: 'open' }),
    ]);
    const { exchanges } = server;
    for (const path of ['/live', '/models', '/metrics', '/health', '/unknown']) await send(path, KEY);
    expect([exchanges.count, exchanges.lastClientAt]).toEqual([4, -Infinity]);
    await send('/thing', KEY);
    clock.nowMs += 5;
    expect(exchanges.lastClientAt).toBe(clock.nowMs);
    release();
    clock.nowMs += 5;
    expect(exchanges.lastClientAt).toBe(clock.nowMs - 5);
  });
});

describe('drain', () => {
  /** A route whose answer is held until released. */
  const held = () => {
    const state: { exchange: Exchange | null; release: () => void } = { exchange: null, release: () => {} };
    const handle: Route['handle'] = (_, exchange) => {
      state.exchange = exchange;
      state.release = exchange.hold();
      return new Response('held');
    };
    return { state, handle };
  };

  it('does not wait if nothing runs', async () => {
    const { server } = serveRoutes([]);
    await server.exchanges.drain(60_000);
    expect(server.exchanges.isDraining).toBe(true);
  });

  it('waits for a running answer and rejects new requests; open routes still answer', async () => {
    const { state, handle } = held();
    const { server, send, log } = serveRoutes([
      route(handle),
      route(() => new Response('ok'), { path: '/open', access: 'open' }),
    ]);
    await send('/thing', KEY);
    const drained = server.exchanges.drain(60_000);
    const refused = await send('/thing', KEY);
    expect([refused.status, refused.headers.get('retry-after'), (await send('/open')).status]).toEqual([
      503,
      '5',
      200,
    ]);
    const soon = new Promise((resolve) => {
      setImmediate(resolve, 'not drained yet');
    });
    expect(await Promise.race([drained, soon])).toBe('not drained yet');
    expect(state.exchange?.signal.aborted).toBe(false);
    state.release();
    await drained;
    expect(log.map((one) => one['status'])).toEqual([503, 200, 200]);
  });

  it('aborts requests that run too long, with a reason', async () => {
    const { state, handle } = held();
    const { server, send } = serveRoutes([
      route((http, exchange, params) => {
        const response = handle(http, exchange, params);
        exchange.signal.addEventListener('abort', () => state.release());
        return response;
      }),
    ]);
    await send('/thing', KEY);
    await server.exchanges.drain(1);
    const reason: unknown = state.exchange?.signal.reason;
    expect(reason instanceof GatewayError && reason.failure.kind).toBe('shutting_down');
  });
});
