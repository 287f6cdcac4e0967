import { afterAll, describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import { openSocket } from '../support/client-socket.ts';
import { mcpFiles } from '../support/mcp/config-file.ts';
import { startHttpMcp } from '../support/mcp/http-server.ts';
import { openProxy } from '../support/open-proxy.ts';
import { otelEnvironment } from '../support/otel-environment.ts';
import { startOtlpReceiver, type ReceivedSpan } from '../support/otlp-receiver.ts';
import { PROVIDER_KEY, startProvider } from '../support/provider.ts';
import { hello, http500, inTurn, says } from '../support/scripts.ts';

const receiver = await startOtlpReceiver();
afterAll(() => receiver.close());
otelEnvironment({
  OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
  OTEL_EXPORTER_OTLP_HEADERS: 'x-team=proxy',
  OTEL_SERVICE_NAME: 'our-proxy',
  OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  OTEL_BSP_SCHEDULE_DELAY: '20',
  OTEL_METRIC_EXPORT_INTERVAL: '50',
});
const web = await startHttpMcp();
afterAll(() => web.close());
const provider = await startProvider();
afterAll(() => provider.close());
const proxy = await openProxy(hello, {
  PROXY_MCP_CONFIG: mcpFiles().write({ web: { url: web.url } }),
  PROXY_EMBEDDINGS_BASE_URL: provider.baseUrl,
  PROXY_EMBEDDINGS_API_KEY: PROVIDER_KEY,
});

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const SECRET = 'the-content-of-a-prompt';
const ANSWER = 'the-content-of-an-answer';
const speaks = says([{ text: ANSWER }]);

let requests = 0;
/** The spans of a request, the one of the request itself last. */
const traced = async (
  body: object,
  { script = speaks, headers = {}, to = proxy, at = '/v1/responses' }: Traced = {},
): Promise<readonly ReceivedSpan[]> => {
  requests += 1;
  const id = `telemetry-${requests}`;
  to.use(script);
  const asked = { model: 'gpt-5.5', input: SECRET, ...body };
  await (await to.post(at, asked, { headers: { ...headers, 'x-request-id': id } })).text();
  const isOwn = ({ attributes }: ReceivedSpan): boolean => attributes['codex_proxy.request_id'] === id;
  await expect.poll(() => receiver.spans.some(isOwn)).toBe(true);
  const own = receiver.spans.find(isOwn);
  return receiver.spans.filter(({ traceId }) => traceId === own?.traceId);
};

interface Traced {
  readonly script?: Script;
  readonly headers?: Readonly<Record<string, string>>;
  readonly to?: typeof proxy;
  readonly at?: string;
}

/** Names with those of their parents. */
const tree = (spans: readonly ReceivedSpan[]): readonly string[] =>
  spans.map(({ name, parentId }) => {
    const parent = spans.find(({ spanId }) => spanId === parentId);
    return parent === undefined ? name : `${parent.name} > ${name}`;
  });

const PARTS = ['read', 'plan', 'reserve', 'queue', 'attempt'].map((name) => `POST /v1/responses > ${name}`);

describe('a request', () => {
  it('is a span with its parts, in the trace of its client', async () => {
    const headers = { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'vendor=1' };
    const spans = await traced({ stream: true }, { headers, script: hello });
    expect(tree(spans)).toEqual([
      ...PARTS,
      'attempt > app-server',
      'attempt > chat gpt-5.5',
      'POST /v1/responses > store',
      'POST /v1/responses',
    ]);
    const [own] = spans.slice(-1);
    expect(own).toMatchObject({
      traceId: TRACE,
      parentId: PARENT,
      traceState: 'vendor=1',
      kind: 'server',
      isError: false,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/v1/responses',
        'http.response.status_code': 200,
        'codex_proxy.model': 'gpt-5.5',
        'codex_proxy.stream': true,
      },
      events: ['first-delta', 'end'],
    });
    for (const { startNs, endNs } of spans) {
      expect(startNs >= (own?.startNs ?? Infinity) && startNs <= endNs && endNs <= (own?.endNs ?? 0)).toBe(
        true,
      );
    }
    // The backend continues the span of the model request.
    const sent = spans.find(({ kind }) => kind === 'client');
    expect(proxy.model.requests.at(-1)?.headers).toMatchObject({
      traceparent: `00-${TRACE}-${sent?.spanId}-01`,
      tracestate: 'vendor=1',
    });
    expect(sent?.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.system': 'openai',
      'gen_ai.request.model': 'gpt-5.5',
      'gen_ai.response.model': 'gpt-5.5',
      'gen_ai.usage.input_tokens': 11,
      'gen_ai.usage.output_tokens': 7,
      'gen_ai.usage.cache_read.input_tokens': 3,
      'gen_ai.usage.reasoning.output_tokens': 1,
      'server.address': '127.0.0.1',
      'codex_proxy.transport': 'http',
      'codex_proxy.status': 200,
    });
  });

  it('without a trace of its client begins one', async () => {
    const spans = await traced({});
    const [own] = spans.slice(-1);
    expect([own?.name, own?.parentId]).toEqual(['POST /v1/responses', null]);
    const sent = spans.find(({ kind }) => kind === 'client');
    expect(proxy.model.requests.at(-1)?.headers).toMatchObject({
      traceparent: `00-${own?.traceId}-${sent?.spanId}-01`,
    });
  });

  it('that its client does not sample is not exported, which the backend can see', async () => {
    const unsampled = '11111111111111111111111111111111';
    proxy.use(speaks);
    const headers = { traceparent: `00-${unsampled}-${PARENT}-00` };
    await (await proxy.post('/v1/responses', { model: 'gpt-5.5', input: 'hi' }, { headers })).text();
    expect(proxy.model.requests.at(-1)?.headers['traceparent']).toMatch(
      new RegExp(`^00-${unsampled}-(?!${PARENT})[\\da-f]{16}-00$`),
    );
    await traced({});
    expect(receiver.spans.filter(({ traceId }) => traceId === unsampled)).toEqual([]);
  });

  it('that fails is an error, and so is each of its model requests', async () => {
    const spans = await traced({}, { script: http500 });
    expect(
      spans.flatMap(({ kind, isError, attributes }) =>
        kind === 'internal'
          ? []
          : [[kind, isError, attributes['error.type'], attributes['codex_proxy.retry']]],
      ),
    ).toEqual([
      ['client', true, 'server-error', 'server-error'],
      ['client', true, 'server-error', 'server-error'],
      ['client', true, 'upstream_error', undefined],
      ['server', true, 'upstream_error', undefined],
    ]);
  });

  it('with several choices has an attempt for each', async () => {
    const chat = { messages: [{ role: 'user', content: SECRET }], n: 2, input: undefined };
    const spans = await traced(chat, { at: '/v1/chat/completions' });
    const attempts = spans.filter(({ name }) => name === 'attempt').map(({ spanId }) => spanId);
    const parents = spans.filter(({ kind }) => kind === 'client').map(({ parentId }) => parentId);
    expect([attempts.length, new Set(parents)]).toEqual([2, new Set(attempts)]);
  });

  it('with a tool of an MCP server has a part for the call, and one for each model request', async () => {
    const given = { a: 87_654_321, b: 1 };
    const call = { name: 'add', namespace: 'mcp__web', arguments: JSON.stringify(given), callId: 'call_1' };
    const spans = await traced(
      { tools: [{ type: 'mcp', server_label: 'web', require_approval: 'never' }] },
      { script: inTurn(says([{ call }]), speaks) },
    );
    expect(tree(spans).filter((one) => one.startsWith('attempt'))).toEqual([
      'attempt > app-server',
      'attempt > chat gpt-5.5',
      'attempt > execute_tool add',
      'attempt > chat gpt-5.5',
    ]);
    expect(spans.find(({ name }) => name === 'execute_tool add')?.attributes).toEqual({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'add',
      'codex_proxy.server': 'web',
      'codex_proxy.status': 'completed',
    });
  });

  it('that goes to a second provider is continued there', async () => {
    const headers = { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'vendor=2' };
    provider.use(async (incoming, outgoing) => {
      await provider.receive(incoming);
      outgoing.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
    await traced({ input: SECRET }, { at: '/v1/embeddings', headers });
    const own = receiver.spans.find(({ name }) => name === 'POST /v1/embeddings');
    expect(own).toMatchObject({ kind: 'server', parentId: PARENT });
    expect(provider.requests.at(-1)?.headers).toMatchObject({
      traceparent: `00-${TRACE}-${own?.spanId}-01`,
      tracestate: 'vendor=2',
    });
  });

  it('over a WebSocket is a span for each response, in the trace of the connection', async () => {
    const trace = '22222222222222222222222222222222';
    proxy.use(speaks);
    const socket = await openSocket(proxy, { headers: { traceparent: `00-${trace}-${PARENT}-01` } });
    for (const input of ['one', 'two']) await socket.create({ model: 'gpt-5.5', input });
    socket.ws.close();
    const all = () => receiver.spans.filter(({ traceId }) => traceId === trace);
    const own = () => all().filter(({ kind, spanId }) => kind === 'server' && hasChildren(spanId));
    const hasChildren = (id: string): boolean => all().some(({ parentId }) => parentId === id);
    await expect.poll(() => own().length).toBe(2);
    expect(new Set(own().map(({ parentId }) => parentId))).toEqual(new Set([PARENT]));
    expect(tree(all()).filter((one) => one === 'attempt > chat gpt-5.5')).toHaveLength(2);
  });

  it('of a background response has the response as a part, which runs longer', async () => {
    const spans = async () => traced({ background: true });
    const [{ traceId } = { traceId: '' }] = (await spans()).slice(-1);
    const all = () => receiver.spans.filter((span) => span.traceId === traceId);
    await expect.poll(() => tree(all())).toContain('POST /v1/responses > background response');
    expect(tree(all())).toContain('attempt > chat gpt-5.5');
    expect(tree(all())).toContain('background response > attempt');
    const sent = all().find(({ kind }) => kind === 'client');
    expect(proxy.model.requests.at(-1)?.headers['traceparent']).toBe(`00-${traceId}-${sent?.spanId}-01`);
  });
});

const metricNames = (): readonly string[] =>
  receiver.metrics.map(({ name, unit, kind }) => `${name} ${unit} ${kind}`).toSorted();

describe('metrics', () => {
  it('have the names that most dashboards use', async () => {
    await traced({});
    const names = [
      'gen_ai.client.operation.duration s histogram',
      'gen_ai.client.token.usage {token} histogram',
      'gen_ai.server.time_to_first_token s histogram',
    ];
    await expect.poll(metricNames).toEqual(names);
    const usage = receiver.metrics.find(({ name }) => name === 'gen_ai.client.token.usage');
    expect(new Set(usage?.points.map(({ attributes }) => attributes['gen_ai.token.type']))).toEqual(
      new Set(['input', 'output']),
    );
  });
});

it('the environment names the service, and the headers for the receiver', () => {
  expect(receiver.resource).toMatchObject({
    'service.name': 'our-proxy',
    'service.version': expect.any(String) as unknown,
    'deployment.environment.name': 'test',
  });
  expect(receiver.headers[0]).toMatchObject({ 'x-team': 'proxy', 'content-type': 'application/x-protobuf' });
});

it('health checks and scrapes are left out', async () => {
  await proxy.get('/healthz');
  await proxy.get('/metrics');
  await traced({});
  const routes = new Set(receiver.spans.map(({ attributes }) => attributes['http.route']));
  expect([routes.has('/healthz'), routes.has('/metrics'), routes.has('/v1/responses')]).toEqual([
    false,
    false,
    true,
  ]);
});

it('nothing that was exported has content or keys', () => {
  const all = receiver.bytes().toString('latin1');
  expect(all).toContain('/v1/responses');
  for (const secret of [SECRET, ANSWER, '87654321', '87654322', proxy.key]) expect(all).not.toContain(secret);
});
