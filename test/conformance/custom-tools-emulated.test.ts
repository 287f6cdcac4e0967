import { describe, expect, it } from 'vitest';

import { modelErrorBody, type Script } from '../../src/demo/model-server.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { eventsOf, readSse } from '../support/sse.ts';
import { freshProxies } from '../support/open-proxy.ts';
import type { TestProxy } from '../support/proxy.ts';
import { hello, says } from '../support/scripts.ts';
import { collect } from '../support/turn-events.ts';

const start = freshProxies();

const INPUT = '*** Begin\n"q" \\ 😀';
const PATCH = {
  type: 'custom',
  name: 'apply_patch',
  description: 'Edits files.',
  format: { type: 'grammar', syntax: 'regex', definition: '\\w+' },
};
const WEATHER = { type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} } };
const SPACE = {
  type: 'namespace',
  name: 'files',
  description: 'Files.',
  tools: [
    { type: 'custom', name: 'touch' },
    { type: 'function', name: 'list', parameters: { type: 'object', properties: {} } },
  ],
};

/** The call is split in the middle of text that must be escaped. */
const ARGUMENTS = JSON.stringify({ input: INPUT });
const calls = says([
  { call: { name: 'apply_patch', arguments: ARGUMENTS, callId: 'c1' }, chunkSize: 3 },
  { call: { name: 'get_weather', arguments: '{ }', callId: 'c2' } },
  { call: { name: 'touch', namespace: 'files', arguments: '{"input":"x"}', callId: 'c3' } },
]);
const CALLED = [
  { type: 'custom_tool_call', call_id: 'c1', name: 'apply_patch', input: INPUT },
  { type: 'function_call', call_id: 'c2', name: 'get_weather', arguments: '{ }' },
  { type: 'custom_tool_call', call_id: 'c3', name: 'touch', namespace: 'files', input: 'x' },
];

const ask = async (proxy: TestProxy, body: JsonObject): Promise<readonly JsonObject[]> => {
  const response = await proxy.post('/v1/responses', { model: 'gpt-5.5', stream: true, ...body });
  const events = eventsOf(await collect(readSse(await response.text())));
  expect(response.status).toBe(200);
  return events as readonly JsonObject[];
};
const outputOf = (events: readonly JsonObject[]): readonly JsonObject[] =>
  ((events.at(-1) ?? {})['response'] as { output: JsonObject[] }).output;

const roundTrip = async (proxy: TestProxy, model: Script): Promise<void> => {
  proxy.use(model);
  const question = { role: 'user', content: 'Patch it.' };
  const tools = [PATCH, WEATHER, SPACE];
  const events = await ask(proxy, { tools, input: [question] });
  expect(outputOf(events)).toMatchObject(CALLED);
  const deltas = events.filter(({ type }) => type === 'response.custom_tool_call_input.delta');
  expect(deltas.map(({ delta }) => delta as string).join('')).toBe(`${INPUT}x`);
  const outputs = [
    { type: 'custom_tool_call_output', call_id: 'c1', output: 'done' },
    { type: 'function_call_output', call_id: 'c2', output: 'sun' },
    { type: 'custom_tool_call_output', call_id: 'c3', output: 'ok' },
  ];
  await ask(proxy, { tools, input: [question, ...outputOf(events), ...outputs] });
  const sent = proxy.model.requests.at(-1)?.body['input'] as readonly JsonObject[];
  expect(sent.slice(1)).toMatchObject([
    { type: 'function_call', call_id: 'c1', name: 'apply_patch', arguments: ARGUMENTS },
    { type: 'function_call', call_id: 'c2' },
    { type: 'function_call', call_id: 'c3', namespace: 'files', arguments: '{"input":"x"}' },
    { type: 'function_call_output', call_id: 'c1', output: 'done' },
    { type: 'function_call_output', call_id: 'c2' },
    { type: 'function_call_output', call_id: 'c3', output: 'ok' },
  ]);
};

const answered = (body: JsonObject): boolean => JSON.stringify(body['input']).includes('_output');

describe('a backend without custom tools', () => {
  it.each([
    ["Invalid value: 'custom'. Supported values are: 'function' and 'web_search'.", 'tools[0].type'],
    ["'type' of tool must be 'function'", null],
  ])('gets functions after it has rejected custom tools: %s', async (message, param) => {
    const proxy = await start(hello);
    let refusals = 0;
    await roundTrip(proxy, (request, connection) => {
      if (JSON.stringify(request.body).includes('"custom')) {
        refusals += 1;
        return connection.reply(
          400,
          modelErrorBody(message, 'invalid_request_error', param, 'invalid_value'),
        );
      }
      return (answered(request.body) ? hello : calls)(request, connection);
    });
    // Later requests use functions at once.
    expect(refusals).toBe(1);
    expect(proxy.model.requests.at(-1)?.body['tools']).toMatchObject([
      {
        type: 'function',
        name: 'apply_patch',
        description: expect.stringMatching(/^Edits files\.\n\n.*\(regex\):\n\\w\+$/s),
        parameters: { properties: { input: { type: 'string' } }, required: ['input'] },
      },
      WEATHER,
      { ...SPACE, tools: [{ type: 'function', name: 'touch' }, SPACE.tools[1]] },
    ]);
  });

  it('gets its error through if it rejects only a grammar', async () => {
    const message = 'Invalid lark grammar for custom tool apply_patch.';
    const proxy = await start((_request, connection) =>
      connection.reply(
        400,
        modelErrorBody(message, 'invalid_request_error', 'tools[0].format', 'invalid_value'),
      ),
    );
    const response = await proxy.post('/v1/responses', { model: 'gpt-5.5', input: 'hi', tools: [PATCH] });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { message, param: 'tools[0].format' } });
    expect(proxy.model.requests).toHaveLength(1);
  });
});

it('custom tools and namespaces are functions of the app-server without the relay', async () => {
  const proxy = await start(hello, { PROXY_WIRE: 'off' });
  await roundTrip(proxy, (request, connection) =>
    (answered(request.body) ? hello : calls)(request, connection),
  );
  const sent = JSON.stringify(proxy.model.requests.at(-1)?.body['tools']);
  expect(sent).toContain('"name":"apply_patch"');
  expect(sent).toContain('"name":"files"');
  expect(sent).not.toContain('"custom"');
});
