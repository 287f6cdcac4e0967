import { NOTHING_LOADED, type ParsedRequest } from '../../src/turns/api.ts';
import { describe, expect, it } from 'vitest';

import { gatewayError, failureOf } from '../../src/canonical/failure/failure.ts';
import { createModelNames } from '../../src/canonical/models/model-names.ts';
import type { TurnEvent } from '../../src/canonical/events/turn-event.ts';
import { ALL_SCOPES } from '../../src/http/guards/scopes.ts';
import { createCors } from '../../src/http/guards/cors.ts';
import { ignoredHeader, servedModelHeader } from '../../src/http/answer/turn-headers.ts';
import type { Layout } from '../../src/openai/responses/output/layout.ts';
import { responsesApi } from '../../src/openai/responses/api.ts';
import { createServer } from '../../src/http/server.ts';
import type { Route } from '../../src/http/route.ts';
import { sseResponse } from '../../src/http/answer/sse-response.ts';
import type { Ambient } from '../../src/kit/ambient.ts';
import { createLogger } from '../../src/observe/log.ts';
import { createMetrics } from '../../src/observe/metrics.ts';
import { dialectSettings } from '../support/dialect-settings.ts';
import { modelList } from '../support/models.ts';
import { testBodies } from '../support/serve-routes.ts';

const ambient: Ambient = {
  clock: { now: () => 1_700_000_000_000 },
  ids: { mint: (prefix) => `${prefix}_1` },
};

const headersOf = (response: Response): Record<string, string> => Object.fromEntries(response.headers);

const call = (method: string, path: string, headers: Record<string, string> = {}) => {
  const route = (where: string, handle: Route['handle']): Route => ({
    method: 'GET',
    path: where,
    access: 'key',
    handle,
  });
  const server = createServer({
    routes: [
      route('/who', (http) => Response.json(http.headers.get('authorization'))),
      route('/busy', () => {
        throw gatewayError('worker_unavailable', { retryAfterSeconds: 3 });
      }),
    ],
    authenticate: (sent) => ({
      keyId: sent.headers.get('authorization') ?? 'no-key',
      scopes: ALL_SCOPES,
    }),
    observer: { open: () => null },
    isPrivate: () => false,
    cors: createCors(['http://page.test']),
    ambient,
    logger: createLogger({ level: 'silent' }),
    metrics: createMetrics(),
    bodies: testBodies(),
    uploadIdleTimeoutMs: 30_000,
  });
  return server.fetch(new Request(`http://proxy${path}`, { method, headers }));
};

const ask = (headers: Record<string, string>, layout: Layout = 'natural'): ParsedRequest => {
  const api = responsesApi({
    layout,
    usagePolicy: 'exact',
    ignoreClientPrompt: false,
    parallelCalls: true,
    omitsTools: () => false,
    stores: false,
    dialect: dialectSettings(),
  });
  const context = { headers: new Headers(headers), ambient, models: createModelNames(modelList([])) };
  return api.toTurn(api.parse({ model: 'm', input: 'hello' }, context), NOTHING_LOADED, context);
};

/** Message-first adds a message to an answer without one; natural adds nothing. */
const layoutOf = async (turn: ParsedRequest): Promise<string> => {
  async function* nothingSaid(): AsyncGenerator<TurnEvent> {
    yield { type: 'turn-ended', outcome: { kind: 'completed' }, usage: null, at: 1_800_000_000_000 };
  }
  let count = 0;
  for await (const _ of turn.arrange(nothingSaid())) count += 1;
  return count === 1 ? 'natural' : 'message-first';
};

describe('response headers', () => {
  it('have the request id, the allowed methods, and the retry time', async () => {
    const json = { 'content-type': 'application/json', vary: 'origin' };
    expect(headersOf(await call('GET', '/who'))).toEqual({ ...json, 'x-request-id': 'req_1' });
    expect(headersOf(await call('GET', '/who', { 'x-request-id': 'mine-7' }))).toEqual({
      ...json,
      'x-request-id': 'mine-7',
    });
    expect(headersOf(await call('DELETE', '/who'))).toEqual({
      ...json,
      'x-request-id': 'req_1',
      allow: 'GET',
    });
    expect(headersOf(await call('GET', '/busy'))).toEqual({
      ...json,
      'x-request-id': 'req_1',
      'retry-after': '3',
    });
  });

  it('allow pages of configured origins, and expose what clients read', async () => {
    const page = { origin: 'http://page.test' };
    expect(headersOf(await call('GET', '/busy', page))).toEqual({
      'content-type': 'application/json',
      'x-request-id': 'req_1',
      'retry-after': '3',
      vary: 'origin',
      'access-control-allow-origin': 'http://page.test',
      'access-control-expose-headers':
        'retry-after, x-proxy-ignored-params, x-proxy-output-mode, x-proxy-served-model, x-request-id',
    });
    const asked = {
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,x-stainless-lang,x-proxy-output-layout',
      'access-control-request-private-network': 'true',
    };
    const vary =
      'access-control-request-method, access-control-request-headers, access-control-request-private-network, origin';
    expect(headersOf(await call('OPTIONS', '/who', { ...page, ...asked }))).toEqual({
      'x-request-id': 'req_1',
      vary,
      'access-control-allow-origin': 'http://page.test',
      'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers': 'authorization,x-stainless-lang,x-proxy-output-layout',
      'access-control-allow-private-network': 'true',
      'access-control-max-age': '600',
      'access-control-expose-headers':
        'retry-after, x-proxy-ignored-params, x-proxy-output-mode, x-proxy-served-model, x-request-id',
    });
    expect(headersOf(await call('OPTIONS', '/who', { origin: 'http://other.test', ...asked }))).toEqual({
      'x-request-id': 'req_1',
      vary,
    });
  });

  it('name the parameters without effect', () => {
    expect(ignoredHeader(['temperature', 'top_p'])).toEqual({
      'x-proxy-ignored-params': 'temperature, top_p',
    });
  });

  it('name the model that answered, if it is not the requested one', () => {
    expect(servedModelHeader('acme/mini')).toEqual({ 'x-proxy-served-model': 'acme/mini' });
    expect(servedModelHeader('a b\r\nx: é')).toEqual({ 'x-proxy-served-model': 'a%20b%0D%0Ax:%20%C3%A9' });
    expect(servedModelHeader(undefined)).toEqual({});
  });

  it('name the output mode, if it is requested or not the default', () => {
    const modeOf = (headers: Record<string, string>): unknown => {
      const { dialect } = ask(headers);
      return dialect === undefined ? null : dialect.headers;
    };
    expect(modeOf({})).toEqual({});
    expect(modeOf({ 'x-proxy-output-mode': 'openai-json' })).toEqual({
      'x-proxy-output-mode': 'openai-json',
    });
    expect(modeOf({ 'x-proxy-output-mode': 'obsidian-xml' })).toEqual({
      'x-proxy-output-mode': 'obsidian-xml',
    });
  });

  it('of a stream prevent buffering by proxies', async () => {
    const nothing = (async function* () {})();
    const response = sseResponse(nothing, {
      keepaliveMs: 60_000,
      headers: {},
      onGone: () => {},
      onEnd: () => {},
      onBug: () => {},
      endOfBroken: () => nothing,
    });
    await response.text();
    expect(headersOf(response)).toEqual({
      'cache-control': 'no-cache, no-transform',
      'content-type': 'text/event-stream; charset=utf-8',
      'x-accel-buffering': 'no',
    });
  });
});

describe('request headers', () => {
  it('choose the layout by x-proxy-output-layout, else by originator', async () => {
    const natural = { 'x-proxy-output-layout': 'natural' };
    const messageFirst = { 'x-proxy-output-layout': 'message-first' };
    const codex = { originator: 'codex_cli_rs' };
    expect(await layoutOf(ask({}))).toBe('natural');
    expect(await layoutOf(ask(messageFirst))).toBe('message-first');
    expect(await layoutOf(ask({}, 'message-first'))).toBe('message-first');
    expect(await layoutOf(ask(natural, 'message-first'))).toBe('natural');
    expect(await layoutOf(ask(codex, 'message-first'))).toBe('natural');
    expect(await layoutOf(ask({ ...codex, ...messageFirst }))).toBe('message-first');
  });

  it('are rejected by name', () => {
    let failed: unknown;
    try {
      ask({ 'x-proxy-output-layout': 'sideways' });
    } catch (error) {
      failed = error;
    }
    expect(failureOf(failed)).toEqual({
      kind: 'invalid_value',
      status: 400,
      type: 'invalid_request_error',
      code: 'invalid_value',
      message: "Invalid value: 'sideways'. Supported values are: 'message-first' and 'natural'.",
      param: 'x-proxy-output-layout',
      retryAfterSeconds: null,
      headers: {},
    });
  });

  it('carry the key in authorization', async () => {
    const response = await call('GET', '/who', { authorization: 'Bearer k' });
    expect(await response.json()).toBe('Bearer k');
  });
});
