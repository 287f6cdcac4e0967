import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { startProxy, type TestProxy } from '../support/proxy.ts';
import { hello } from '../support/scripts.ts';

/** Requests that are rejected as a whole; errors use the caller's parameter names. */
describe('an invalid request', () => {
  let proxy: TestProxy;
  beforeAll(async () => {
    proxy = await startProxy(hello);
  });
  afterAll(() => proxy.close());

  const f = { name: 'f', parameters: { type: 'object', properties: {} } };
  const broken = { name: 'g', parameters: { type: 'object', properties: { a: { type: 5 } } } };
  const messages = [{ role: 'user', content: 'hi' }];
  const inChat = (tool: object) => ({ type: 'function', function: tool });
  const inResponses = (tool: object) => ({ type: 'function', ...tool });
  const TWICE = "duplicate tool name 'f'";
  it.each([
    [
      '/v1/responses',
      { input: 'hi', tools: [inResponses(f), { type: 'custom', name: 'f' }] },
      'tools[1].name',
      TWICE,
    ],
    [
      '/v1/chat/completions',
      { messages, tools: [{ type: 'custom', custom: { name: 'f' } }, inChat(f)] },
      'tools[1].function.name',
      TWICE,
    ],
    ['/v1/chat/completions', { messages, functions: [f, f] }, 'functions[1].name', TWICE],
    [
      '/v1/responses',
      { input: [{ type: 'reasoning', id: 'rs_1', summary: [] }] },
      'input[0]',
      'only reasoning without encrypted content',
    ],
  ])('%s %j', async (path, body, param, words) => {
    for (const stream of [false, true]) {
      const response = await proxy.post(path, { model: 'gpt-5.5', stream, ...body });
      expect([response.status, await response.json()]).toEqual([
        400,
        {
          error: {
            message: expect.stringMatching(new RegExp(String.raw`^Invalid '.*': .*${words}`)),
            type: 'invalid_request_error',
            param,
            code: 'invalid_value',
          },
        },
      ]);
    }
    expect(proxy.model.requests).toEqual([]);
  });

  it.each([
    ['/v1/responses', { input: 'hi', tools: [inResponses(f), inResponses(broken)] }, 'tools[1].parameters'],
    ['/v1/chat/completions', { messages, tools: [inChat(broken)] }, 'tools[0].function.parameters'],
    ['/v1/chat/completions', { messages, functions: [f, broken] }, 'functions[1].parameters'],
  ])('%s names the function with an invalid schema: %j', async (path, body, param) => {
    const response = await proxy.post(path, { model: 'gpt-5.5', ...body });
    expect([response.status, await response.json()]).toEqual([
      400,
      {
        error: {
          message:
            "Invalid schema for function 'g': in 'properties.a.type': expected a type of JSON Schema, but got 5.",
          type: 'invalid_request_error',
          param,
          code: 'invalid_function_parameters',
        },
      },
    ]);
  });
});
