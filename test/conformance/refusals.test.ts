import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { startProxy, type TestProxy } from '../support/proxy.ts';
import { hello } from '../support/scripts.ts';

/** What no API refuses by itself, and the plan of a turn does: the caller reads its own names for it. */
describe('a request that cannot be run', () => {
  let proxy: TestProxy;
  beforeAll(async () => {
    proxy = await startProxy(hello);
  });
  afterAll(() => proxy.close());

  const reserved = { name: 'mcp__x', parameters: { type: 'object', properties: {} } };
  const messages = [{ role: 'user', content: 'hi' }];
  const inChat = (name: string) => ({ type: 'function', function: { ...reserved, name } });
  it.each([
    [
      '/v1/responses',
      { input: 'hi', tools: [{ type: 'function', ...reserved }] },
      'tools[0].name',
      'reserved',
    ],
    ['/v1/chat/completions', { messages, tools: [inChat('mcp__x')] }, 'tools[0].function.name', 'reserved'],
    ['/v1/chat/completions', { messages, functions: [reserved] }, 'functions[0].name', 'reserved'],
    [
      '/v1/chat/completions',
      { messages, tools: [inChat('x'), inChat('x')] },
      'tools[1].function.name',
      'duplicate',
    ],
    [
      '/v1/responses',
      { input: [{ type: 'reasoning', id: 'rs_1', summary: [] }] },
      'input[0]',
      'nothing is left',
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
});
