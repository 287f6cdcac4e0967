import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { modelErrorBody, type Script } from '../../src/demo/model-server.ts';
import { closedHost } from '../support/closed-host.ts';
import type { TestProxy } from '../support/proxy.ts';
import * as scripts from '../support/scripts.ts';
import { ASK, askStream, askWhole, endOf, textIn } from './client.ts';
import { closeForGood, eventually, expectSound } from './settle.ts';
import { startWatchedProxy } from './workers.ts';

const replies =
  (status: number, body: Parameters<typeof modelErrorBody>): Script =>
  (_request, connection) =>
    connection.reply(status, modelErrorBody(...body));

/** What a client gets: status, error object, retry-after. */
interface Told {
  readonly status: number;
  readonly retryAfter?: string;
  /** `{host}` in a message is the backend's, `{time}` any time. */
  readonly error: readonly [message: string, type: string, param: string | null, code: string];
}

const UNFINISHED = 'The upstream at {host} ended its answer without response.completed';

const answered = (status: number): string =>
  `The upstream at {host} had an error while processing the request (it answered ${status}).`;

const FAULTS: readonly (readonly [name: string, script: Script, told: Told])[] = [
  [
    '429 with retry-after',
    scripts.http429(7),
    {
      status: 429,
      retryAfter: '7',
      error: ['Rate limit reached for requests.', 'rate_limit_error', null, 'rate_limit_exceeded'],
    },
  ],
  [
    'a plan that is used up',
    scripts.usageLimit(3600),
    {
      status: 429,
      retryAfter: '3600',
      error: [
        'The backend refused: the account that this server uses has reached its limit, until {time}. It said: The usage limit has been reached',
        'insufficient_quota',
        null,
        'insufficient_quota',
      ],
    },
  ],
  [
    '401',
    scripts.http401,
    {
      status: 502,
      error: [
        'The upstream rejected the credentials of this server. Its operator has to sign in again, or to check PROXY_UPSTREAM_API_KEY.',
        'server_error',
        null,
        'upstream_unauthorized',
      ],
    },
  ],
  [
    '400 with words of its own',
    scripts.http400(),
    {
      status: 400,
      error: ["Invalid value: 'purple'.", 'invalid_request_error', 'reasoning.effort', 'invalid_value'],
    },
  ],
  [
    'a model that it does not know',
    scripts.http404Model('no-such-model'),
    {
      status: 404,
      error: [
        'The model `no-such-model` does not exist or you do not have access to it.',
        'invalid_request_error',
        'model',
        'model_not_found',
      ],
    },
  ],
  ['500', scripts.http500, { status: 502, error: [answered(500), 'server_error', null, 'upstream_error'] }],
  [
    '503',
    replies(503, ['No capacity.', 'server_error', null, null]),
    {
      status: 503,
      error: [
        'The upstream is overloaded. Please try again shortly.',
        'server_error',
        null,
        'upstream_overloaded',
      ],
    },
  ],
  [
    'an HTML page with status 502',
    (_request, connection) =>
      connection.reply(502, '<html>Bad gateway</html>', { 'content-type': 'text/html' }),
    { status: 502, error: [answered(502), 'server_error', null, 'upstream_error'] },
  ],
  [
    'an HTML page with status 200',
    scripts.garbageHtml,
    {
      status: 502,
      error: [
        'The upstream at {host} answered with something other than an event stream.',
        'server_error',
        null,
        'upstream_error',
      ],
    },
  ],
  [
    'events that are not JSON',
    scripts.garbageJson,
    {
      status: 502,
      error: [
        `${UNFINISHED} and sent 1 event that could not be read.`,
        'server_error',
        null,
        'upstream_error',
      ],
    },
  ],
  [
    'a connection that is cut before a status',
    (_request, connection) => connection.destroy(),
    {
      status: 502,
      error: [
        'The upstream at {host} could not be reached: the connection was closed (UND_ERR_SOCKET).',
        'server_error',
        null,
        'upstream_unreachable',
      ],
    },
  ],
  [
    'response.failed',
    scripts.failed('server_error', 'The model had an accident.'),
    { status: 502, error: ['The model had an accident.', 'server_error', null, 'upstream_error'] },
  ],
  [
    'an input that is too long',
    scripts.contextLengthExceeded,
    {
      status: 400,
      error: [
        'Your input exceeds the context window of this model.',
        'invalid_request_error',
        'input',
        'context_length_exceeded',
      ],
    },
  ],
];

describe('a backend that answers badly', () => {
  let proxy: TestProxy;
  beforeAll(async () => {
    proxy = await startWatchedProxy(scripts.hello);
  });
  afterEach(() => expectSound(proxy));
  afterAll(() => closeForGood(proxy));

  const unfinished = (): string => `${UNFINISHED.replace('{host}', new URL(proxy.model.baseUrl).host)}.`;

  // Nothing was sent yet, so a stream and a whole answer fail the same way.
  it.each(FAULTS)('%s', async (_, script, told) => {
    proxy.use(script);
    const [words, type, param, code] = told.error;
    const message = words.includes('{time}')
      ? expect.stringMatching(words.replaceAll('.', String.raw`\.`).replace('{time}', '[-0-9]+ [0-9:]+ UTC'))
      : words.replace('{host}', new URL(proxy.model.baseUrl).host);
    const expected = {
      status: told.status,
      retryAfter: told.retryAfter ?? null,
      body: { error: { message, type, param, code } },
    };
    expect([await askWhole(proxy), await askWhole(proxy, { ...ASK, stream: true })]).toEqual([
      expected,
      expected,
    ]);
  });

  it('an event that is nested too deeply: the turn fails cleanly, and others are not affected', async () => {
    const depth = 100_000;
    const item = `{"type":"web_search_call","id":"ws_1","action":${'['.repeat(depth)}${']'.repeat(depth)}}`;
    const raw = `event: response.output_item.done\ndata: {"type":"response.output_item.done","item":${item}}\n\n`;
    proxy.use(scripts.says([{ text: 'Hello.' }, { raw }, { text: 'More.' }]));
    const error = {
      message: 'The upstream sent an event that is nested too deeply.',
      type: 'server_error',
      param: null,
      code: 'upstream_error',
    };
    const [whole, streamed] = await Promise.all([askWhole(proxy), askStream(proxy)]);
    expect(whole).toEqual({ status: 502, retryAfter: null, body: { error } });
    expect([streamed.status, textIn(streamed.frames), endOf(streamed.frames)]).toEqual([
      200,
      'Hello.',
      { last: ['error', 'response.failed', 'done'], error },
    ]);
    // The same app-server serves the next request.
    const workers = proxy.app.workers().map(({ pid }) => pid);
    proxy.use(scripts.hello);
    expect((await askWhole(proxy)).status).toBe(200);
    expect(proxy.app.workers().map(({ pid }) => pid)).toEqual(workers);
    const lines = proxy.log.filter(
      ({ msg, errorCode }) => msg === 'request' && errorCode === 'upstream_error',
    );
    expect(lines.slice(-2).map(({ outcome }) => outcome)).toEqual(['failed', 'failed']);
  });

  it('an answer of too many items: the turn ends at once, cleanly', async () => {
    const items = Array.from({ length: 6_000 }, (_, index) => ({
      item: { type: 'web_search_call', id: `ws_${index}`, status: 'completed' },
    }));
    proxy.use(scripts.says(items));
    const error = {
      message: 'The answer of the upstream has too many output items: at most 5000 are accepted.',
      type: 'server_error',
      param: null,
      code: 'too_many_output_items',
    };
    expect(await askWhole(proxy)).toEqual({ status: 502, retryAfter: null, body: { error } });
    const { frames } = await askStream(proxy);
    expect(endOf(frames)).toEqual({ last: ['error', 'response.failed', 'done'], error });
  });

  it('a stream that is cut off: the received part is kept, and the failure is in the frames', async () => {
    proxy.use(scripts.cutMidStream);
    const { status, frames } = await askStream(proxy);
    expect([status, textIn(frames), endOf(frames)]).toEqual([
      200,
      'This sentence will never',
      {
        last: ['error', 'response.failed', 'done'],
        error: { message: unfinished(), type: 'server_error', param: null, code: 'upstream_error' },
      },
    ]);
  });

  it('a stream that is cut off, for a client without `stream`', async () => {
    proxy.use(scripts.cutMidStream);
    expect(await askWhole(proxy)).toEqual({
      status: 502,
      retryAfter: null,
      body: {
        error: { message: unfinished(), type: 'server_error', param: null, code: 'upstream_error' },
      },
    });
  });
});

describe.each(['on', 'off'])('an unreachable backend, with the relay %s', (wire) => {
  let proxy: TestProxy;
  let host: string;
  beforeAll(async () => {
    host = await closedHost();
    proxy = await startWatchedProxy(scripts.hello, {
      PROXY_UPSTREAM_BASE_URL: `http://${host}/v1`,
      PROXY_WIRE: wire,
    });
  });
  afterAll(() => closeForGood(proxy));

  it('is a 502 that names the host if known, and leaves nothing behind', async () => {
    const why = `at ${host} could not be reached: the connection was refused (ECONNREFUSED).`;
    const expected = {
      status: 502,
      retryAfter: null,
      body: {
        error: {
          message: `The upstream ${wire === 'on' ? why : 'could not be reached.'}`,
          type: 'server_error',
          param: null,
          code: 'upstream_unreachable',
        },
      },
    };
    expect([await askWhole(proxy), await askWhole(proxy, { ...ASK, stream: true })]).toEqual([
      expected,
      expected,
    ]);
    const leases = await eventually(
      () => proxy.app.workers().map((worker) => worker.leases),
      (all) => all.every((count) => count === 0),
    );
    expect([leases, (await proxy.get('/readyz')).status]).toEqual([[0], 200]);
  });
});
