import { expect, it } from 'vitest';

import { isJsonObject, type JsonObject } from '../../src/kit/json/json.ts';
import { hello, inTurn, says } from '../support/scripts.ts';
import { freshProxies, shareProxy } from './hooks.ts';
import { itemsSent } from './proxy.ts';
import type { ChatGptProxy } from './proxy.ts';

let proxy: ChatGptProxy;
shareProxy((started) => {
  proxy = started;
});

const WEATHER = { type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} } };

it.each([false, true])(
  'a namespace that codex adds is hidden from the client (stream: %s)',
  async (stream) => {
    const call = { name: 'get_weather', arguments: '{}', callId: 'call_1', namespace: 'functions' };
    proxy.backend.use(inTurn(says([{ call }]), hello));
    const ask = { model: 'gpt-6.1-sol', stream, tools: [WEATHER] };
    const question = { role: 'user', content: 'The weather?' };
    const { json, text } = await proxy.post('/v1/responses', { ...ask, input: [question] });
    const output = Array.isArray(json['output']) ? json['output'].filter(isJsonObject) : [];
    expect(output.at(-1)).toEqual({
      id: expect.any(String),
      type: 'function_call',
      status: 'completed',
      call_id: 'call_1',
      name: 'get_weather',
      arguments: '{}',
    });
    expect(text).not.toContain('namespace');
    const answered = { type: 'function_call_output', call_id: 'call_1', output: 'sunny' };
    const next = await proxy.post('/v1/responses', { ...ask, input: [question, ...output, answered] });
    expect(next.status).toBe(200);
  },
);

const EXEC = {
  type: 'custom',
  name: 'exec',
  format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' },
};
const CLOCK = {
  type: 'namespace',
  name: 'clock',
  description: 'Time.',
  tools: [{ ...WEATHER, name: 'sleep' }],
};
const SEARCH = { type: 'tool_search', execution: 'client', description: 'Finds tools.', parameters: {} };
const LATER = { ...WEATHER, name: 'later', defer_loading: true, allowed_callers: ['direct'] };
const QUESTION = { role: 'user', content: 'The weather?' };
const additional = (...tools: readonly JsonObject[]) => ({
  type: 'additional_tools',
  role: 'developer',
  tools,
});
const filled = { ...WEATHER, strict: false };
const laterSent = { ...filled, name: 'later', defer_loading: true };

it('all tools of a request are in one first item in the codex format, one namespace for those without', async () => {
  proxy.backend.use(
    says([{ call: { tool: 'custom', name: 'exec', arguments: 'a', callId: 'c1', namespace: 'functions' } }]),
  );
  const own = { type: 'namespace', name: 'functions', description: 'Mine.', tools: [EXEC] };
  const answered = await proxy.post('/v1/responses', {
    model: 'gpt-6.1-sol',
    tools: [WEATHER, LATER],
    input: [QUESTION, additional(own, CLOCK, SEARCH)],
  });
  expect(answered.status).toBe(200);
  expect(answered.headers.get('x-proxy-ignored-params')).toBe('tools[1].allowed_callers');
  expect(answered.json['output']).toMatchObject([
    { type: 'custom_tool_call', name: 'exec', namespace: 'functions' },
  ]);
  const [request] = proxy.backend.modelRequests;
  expect([request?.requestFormat, request?.body['tools']]).toEqual(['codex', undefined]);
  expect(request?.body['input']).toMatchObject([
    {
      type: 'additional_tools',
      role: 'developer',
      tools: [{ ...own, tools: [filled, laterSent, EXEC] }, CLOCK, SEARCH],
    },
    { type: 'message', role: 'user' },
  ]);
});

it('tools in the input are tools of the request in the Responses format', async () => {
  proxy.backend.use(hello);
  const answered = await proxy.post('/v1/responses', {
    model: 'gpt-5.5',
    tools: [WEATHER],
    input: [additional(EXEC, CLOCK), QUESTION],
  });
  expect(answered.status).toBe(200);
  const [request] = proxy.backend.modelRequests;
  expect(request?.body['tools']).toEqual([filled, EXEC, CLOCK]);
  expect(itemsSent(request)).toMatchObject([{ type: 'message', role: 'user' }]);
});

const startFresh = freshProxies();

it('a backend that rejects namespaces in calls gets none, which is reported', async () => {
  const fresh = await startFresh({ prepare: ({ settings }) => void (settings.namespaceOnCalls = 'refused') });
  const history = [
    QUESTION,
    { type: 'function_call', call_id: 'c1', name: 'sleep', namespace: 'clock', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c1', output: 'ok' },
  ];
  for (const requests of [2, 3]) {
    const answered = await fresh.post('/v1/responses', { model: 'gpt-5.5', tools: [CLOCK], input: history });
    expect([answered.status, answered.headers.get('x-proxy-ignored-params')]).toEqual([
      200,
      'input[1].namespace',
    ]);
    // Learned refusals are not repeated.
    expect(fresh.backend.modelRequests).toHaveLength(requests);
  }
});
