import { describe, expect, it } from 'vitest';

import { asCurl } from './bodies.tsx';
import { cachedShare, isShown, statusOf, transportOf, whoseError } from './describe-request.ts';
import { merged, NO_REQUESTS, withMessage, type LiveMessage } from './live-list.ts';
import { filtersIn, listPath, pagePath, type LoggedRequest, type RequestError } from './request-answers.ts';
import { spanRows } from './span-rows.ts';

const request = (id: string, different: Partial<LoggedRequest> = {}): LoggedRequest => ({
  id,
  request_id: `req_${id}`,
  response_id: null,
  instance: 'a',
  state: 'ended',
  method: 'POST',
  route: '/v1/responses',
  transport: 'http',
  upstream_transport: null,
  started_at: 1000,
  duration_ms: 10,
  first_event_ms: null,
  first_delta_ms: null,
  status: 200,
  outcome: 'completed',
  stream: true,
  background: false,
  key: { id: 'key_1', name: null },
  client: 'codex',
  model: 'm',
  served_model: null,
  usage: null,
  ignored_params: [],
  retries: 0,
  error: null,
  captured: false,
  replay_of: null,
  run: null,
  ...different,
});

const ERROR: RequestError = {
  code: 'rate_limit_exceeded',
  message: 'Too fast.',
  param: null,
  source: 'backend',
  upstream_status: 429,
};
const ALL = filtersIn(new URLSearchParams());

describe('a request', () => {
  it('has a status in a few words', () => {
    const shown = [
      request('a'),
      request('a', { state: 'running', status: null }),
      request('a', { error: ERROR, status: 429 }),
      request('a', { error: ERROR }),
      request('a', { status: 499, outcome: null }),
      request('a', { outcome: 'incomplete' }),
    ].map((one) => statusOf(one));
    expect(shown).toEqual([
      { tone: 'good', text: '200' },
      { tone: 'info', text: 'Running' },
      { tone: 'bad', text: '429' },
      { tone: 'bad', text: '200, then failed' },
      { tone: 'warn', text: 'Left by the client' },
      { tone: 'warn', text: '200 incomplete' },
    ]);
  });

  it('says whose limit or error it was', () => {
    expect([
      whoseError(ERROR, 429),
      whoseError({ ...ERROR, source: 'key', upstream_status: null }, 429),
      whoseError({ ...ERROR, upstream_status: 503 }, 502),
      whoseError({ ...ERROR, source: 'client', upstream_status: null }, 400),
    ]).toEqual([
      'A limit of the backend (it answered 429)',
      'A limit of the key',
      'The backend (it answered 503)',
      'The request',
    ]);
  });

  it('shows transports and the cached share', () => {
    const tokens = { input_tokens: 0, cached_tokens: 0, output_tokens: 1, reasoning_tokens: 0 };
    expect([
      transportOf(request('a', { upstream_transport: 'websocket' })),
      transportOf(request('a', { upstream_transport: 'http' })),
      cachedShare(tokens),
      cachedShare({ ...tokens, input_tokens: 8, cached_tokens: 2 }),
    ]).toEqual(['http → websocket', 'http', null, 0.25]);
  });
});

describe('filters', () => {
  it('are in the address of the page and in the query', () => {
    const filters = { ...ALL, status: '4xx', q: 'a b', within: '15' };
    expect(pagePath(filters)).toBe('/requests?status=4xx&q=a+b&within=15');
    expect(filtersIn(new URLSearchParams(pagePath(filters).split('?')[1]))).toEqual(filters);
    expect(listPath(filters, 'rql_1', 2_000_000)).toBe(
      '/v1/codex/requests?limit=50&status=4xx&q=a+b&from=1100&after=rql_1',
    );
    expect(listPath({ ...ALL, status: 'running' }, null, 0)).toBe('/v1/codex/requests?limit=50');
  });

  it('apply to the live stream', () => {
    const failed = request('a', { error: ERROR, status: 429, response_id: 'resp_1' });
    const isFound = (filters: Partial<typeof ALL>, one = failed) =>
      isShown(one, { ...ALL, ...filters }, 1_000_000 + 60_000);
    const found = [
      {},
      { status: 'failed' },
      { status: '4xx' },
      { status: '429' },
      { q: 'resp_' },
      { key: 'key_1' },
    ];
    expect(found.map((filters) => isFound(filters))).toEqual(found.map(() => true));
    const missed = [{ status: 'ok' }, { status: '5xx' }, { status: 'running' }, { q: '1' }, { model: 'x' }];
    expect(missed.map((filters) => isFound(filters))).toEqual(missed.map(() => false));
    expect([isFound({ within: '1' }), isFound({ within: '0.5' })]).toEqual([true, false]);
    const running = request('b', { state: 'running', status: null });
    expect([isFound({ status: 'running' }, running), isFound({ status: 'failed' }, running)]).toEqual([
      true,
      false,
    ]);
  });
});

describe('the live list', () => {
  const after = (...messages: readonly LiveMessage[]) => messages.reduce(withMessage, NO_REQUESTS);
  const running = (id: string) => request(id, { state: 'running' });

  it('follows requests, and a snapshot replaces what runs', () => {
    const { requests, dropped } = after(
      { object: 'list', data: [running('b'), running('a')] },
      request('a'),
      { dropped: 3 },
      { object: 'list', data: [running('c')] },
    );
    expect([[...requests.values()].map(({ id, state }) => `${id} ${state}`), dropped]).toEqual([
      ['a ended', 'c running'],
      3,
    ]);
  });

  it('has a limited length', () => {
    const ids = Array.from({ length: 502 }, (_, nth) => String(nth).padStart(3, '0'));
    const { requests } = after(running('000-long'), ...ids.map((id) => request(id)));
    expect([requests.size, requests.has('000-long'), requests.has('000'), requests.has('501')]).toEqual([
      500,
      true,
      false,
      true,
    ]);
  });

  it('shows what runs first, and each request once, as it is now', () => {
    const rows = merged(
      [running('a'), request('d')],
      [request('d', { status: 500 }), request('c'), request('b')],
    );
    expect(rows.map(({ id, state, status }) => `${id} ${state} ${status}`)).toEqual([
      'a running 200',
      'd ended 200',
      'c ended 200',
      'b ended 200',
    ]);
  });
});

describe('the waterfall', () => {
  const span = (name: string, parent: number | null, start: number, end: number, facts = {}) => ({
    name,
    parent,
    start_ms: start,
    end_ms: end,
    facts,
  });

  it('places parts on the whole time', () => {
    const rows = spanRows(
      [
        span('queue', null, 0, 20),
        span('attempt', null, 20, 90),
        span('model-request', 1, 30, 80, { status: 503, error: 'upstream_error', headMs: 4 }),
        span('first-delta', null, 50, 50),
      ],
      200,
    );
    expect(
      rows.map(({ title, depth, left, width, tone, isMoment }) => ({
        title,
        depth,
        left,
        width,
        tone,
        isMoment,
      })),
    ).toEqual([
      { title: 'Wait for a slot', depth: 0, left: 0, width: 10, tone: 'wait', isMoment: false },
      { title: 'Attempt', depth: 0, left: 10, width: 35, tone: 'own', isMoment: false },
      { title: 'Backend', depth: 1, left: 15, width: 25, tone: 'bad', isMoment: false },
      { title: 'First delta', depth: 0, left: 25, width: 0, tone: 'own', isMoment: true },
    ]);
    expect(rows[2]?.facts).toBe('status: 503, error: upstream_error');
  });
});

it('a captured request is a command with a placeholder for the key', () => {
  const body = { chars: 17, truncated: false, text: `{"input":"it's"}` };
  const capture = {
    status: 'captured',
    path: '/v1/responses',
    client_body: body,
    model_requests: [],
    partial: false,
  } as const;
  expect(asCurl(capture, 'http://host')).toContain(`curl 'http://host/v1/responses'`);
  expect(asCurl(capture, 'http://host')).toContain(String.raw`-d '{"input":"it'\''s"}'`);
  expect(asCurl({ ...capture, client_body: { ...body, truncated: true } }, '')).toBeNull();
  expect(asCurl({ status: 'missing', message: '' }, '')).toBeNull();
});
