import { expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello, says } from '../support/scripts.ts';
import { eventsOf, readSse } from '../support/sse.ts';
import { collect } from '../support/turn-events.ts';

const proxy = await openProxy(hello);

/** The declarations of codex's own client in both of its forms, shortened. */
const EXEC = {
  type: 'custom',
  name: 'exec',
  description: 'Runs a script.',
  format: { type: 'grammar', syntax: 'lark', definition: 'start: /[\\s\\S]*/' },
};
const SLEEP = {
  type: 'function',
  name: 'sleep',
  description: 'Waits.',
  strict: false,
  parameters: { type: 'object', properties: { ms: { type: 'number', minimum: 0 } } },
};
const CLOCK = { type: 'namespace', name: 'clock', description: 'Time.', tools: [SLEEP] };
const SEARCH = {
  type: 'tool_search',
  execution: 'client',
  description: 'Finds tools.',
  parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
};
const FULL = {
  model: 'gpt-5.5',
  tools: [
    { ...SLEEP, name: 'exec_command' },
    EXEC,
    { ...SLEEP, name: 'later', defer_loading: true },
    CLOCK,
    SEARCH,
  ],
  parallel_tool_calls: true,
};
const ADDITIONAL = {
  type: 'additional_tools',
  id: 'at_1',
  role: 'developer',
  tools: [{ type: 'namespace', name: 'functions', description: '', tools: [EXEC, SLEEP] }, CLOCK, SEARCH],
};
const LITE = { model: 'gpt-6.1-sol', parallel_tool_calls: true };
const PROMPT = { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be Codex.' }] };
const QUESTION = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Do it.' }] };

const ask = async (body: JsonObject): Promise<readonly JsonObject[]> => {
  const response = await proxy.post(
    '/v1/responses',
    { ...body, stream: true, store: false, include: ['reasoning.encrypted_content'] },
    { headers: { 'x-proxy-output-layout': 'natural' } },
  );
  const text = await response.text();
  expect([response.status, response.headers.get('x-proxy-ignored-params')]).toEqual([200, null]);
  const events = eventsOf(await collect(readSse(text)));
  expect(events.at(-1)).toMatchObject({ type: 'response.completed' });
  return events.flatMap(({ type, item }) =>
    type === 'response.output_item.done' ? [item as JsonObject] : [],
  );
};
const sent = (): JsonObject => proxy.model.requests.at(-1)?.body ?? {};

/** Calls of the model, and the client's answers. */
const SEARCHED = {
  type: 'tool_search_call',
  id: 'tsc_1',
  call_id: 'c3',
  status: 'completed',
  execution: 'client',
  arguments: { query: 'calendar', limit: 2 },
};
const calls = says([
  { call: { tool: 'custom', name: 'exec', arguments: 'text("hi")', callId: 'c1' } },
  { call: { name: 'sleep', namespace: 'clock', arguments: '{"ms": 1}', callId: 'c2' } },
  { item: SEARCHED },
]);
const CREATE = { ...SLEEP, name: 'create_event' };
const OUTPUTS = [
  { type: 'custom_tool_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'hi' }] },
  { type: 'function_call_output', call_id: 'c2', output: 'slept' },
  {
    type: 'tool_search_output',
    id: 'tso_1',
    call_id: 'c3',
    status: 'completed',
    execution: 'client',
    tools: [{ type: 'namespace', name: 'calendar', description: 'Days.', tools: [CREATE] }],
  },
];

it.each([
  ['in the request', FULL, [PROMPT, QUESTION]],
  ['in the input', LITE, [ADDITIONAL, PROMPT, QUESTION]],
])('tools that codex declares %s are called, searched and loaded', async (_, body, beginning) => {
  const before = proxy.model.requests.length;
  proxy.use(calls);
  const output = await ask({ ...body, input: beginning });
  expect(output).toMatchObject([
    { type: 'custom_tool_call', call_id: 'c1', name: 'exec', input: 'text("hi")' },
    { type: 'function_call', call_id: 'c2', name: 'sleep', namespace: 'clock', arguments: '{"ms": 1}' },
    SEARCHED,
  ]);
  expect(sent()['tools']).toEqual('tools' in body ? body.tools : undefined);
  expect(sent()['input']).toEqual(beginning);
  // A tool that was found can be called.
  const call = { name: 'create_event', namespace: 'calendar', arguments: '{}', callId: 'c4' };
  proxy.use(says([{ call }]));
  const input = [...beginning, ...output, ...OUTPUTS];
  const loaded = await ask({ ...body, input });
  expect(loaded).toMatchObject([{ type: 'function_call', name: 'create_event', namespace: 'calendar' }]);
  const bare = (items: unknown): readonly JsonObject[] =>
    (items as readonly JsonObject[]).map(({ status: _status, ...item }) => item);
  expect(bare(sent()['input'])).toEqual(bare(input));
  expect(proxy.model.requests.length - before).toBe(2);
});

it('a tool search that was not declared is answered inside the turn', async () => {
  const before = proxy.model.requests.length;
  let nth = 0;
  proxy.use((request, connection) => {
    nth += 1;
    return (nth === 1 ? says([{ item: SEARCHED }]) : hello)(request, connection);
  });
  const output = await ask({ ...FULL, tools: FULL.tools.slice(0, 1), input: [QUESTION] });
  expect(output).toMatchObject([{ type: 'message' }]);
  expect(proxy.model.requests.length - before).toBe(2);
});

it.each([
  ['input[0].role', { ...ADDITIONAL, role: 'user' }],
  ['input[0].tools', { ...ADDITIONAL, tools: 'all' }],
  ['input[0].tools[0].name', { ...ADDITIONAL, tools: [{ type: 'function' }] }],
  ['input[0].tools[0].tools[0].type', { ...ADDITIONAL, tools: [{ ...CLOCK, tools: [{ type: 'shell' }] }] }],
  ['input[0].tools[0].tools', { ...ADDITIONAL, tools: [{ type: 'namespace', name: 'x' }] }],
])('an invalid item is rejected by its location: %s', async (param, item) => {
  const response = await proxy.post('/v1/responses', { ...LITE, input: [item, QUESTION] });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { param } });
});
