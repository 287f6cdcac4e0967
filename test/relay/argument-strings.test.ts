import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { askAll, inAllWays } from '../support/four-ways.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello, says } from '../support/scripts.ts';

/** What a model may write as the arguments of a call. */
const WRITTEN = [
  '{ "a" : 1,\n\t"b": [ 1 ,2 ] }',
  String.raw`{"a":"\u00e9\ud83d\ude00\/ é😀"}`,
  '{"a":1,"a":2,"__proto__":{"b":1}}',
  '{"n":1.0,"m":1e3,"big":12345678901234567890}',
  '{"a": not JSON',
  '"text"',
  'null',
  ' ',
];

const tool: JsonObject = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } };
/** Kept byte for byte with the relay. */
const schema: JsonObject = {
  type: 'object',
  properties: {
    tree: { $ref: '#/$defs/tree' },
    any: true,
    none: false,
    loose: {},
    text: { type: 'string', pattern: '^[a-z]+$', minLength: 1, format: 'hostname' },
    pick: { enum: [1, 'a', null] },
    list: { type: 'array' },
  },
  required: ['tree'],
  additionalProperties: false,
  $defs: { tree: { type: 'object', properties: { next: { $ref: '#/$defs/tree' }, me: { $ref: '#' } } } },
};

describe.each([
  ['with the relay', {}],
  ['without the relay', { PROXY_WIRE: 'off' }],
])('texts of the model and the client, %s', async (_, env) => {
  const proxy = await openProxy(hello, env);
  const hasRelay = !('PROXY_WIRE' in env);

  it('keep arguments unchanged in answers', async () => {
    proxy.use(
      says(
        WRITTEN.map((text, index) => ({
          call: { name: 'f', arguments: text, callId: `c${index}` },
          chunkSize: 3,
        })),
      ),
    );
    expect(await askAll(proxy, { tools: [tool] })).toEqual(
      inAllWays({ calls: WRITTEN.map((text) => ['function', 'f', text] as const) }),
    );
  });

  it('keep arguments unchanged in a conversation that is sent back', async () => {
    proxy.use(hello);
    const pairs = WRITTEN.map((written, index) => ({ id: `c${index}`, written }));
    const bodies = {
      '/v1/responses': {
        input: [
          { role: 'user', content: 'hi' },
          ...pairs.map(({ id, written }) => ({
            type: 'function_call',
            call_id: id,
            name: 'f',
            arguments: written,
          })),
          ...pairs.map(({ id }) => ({ type: 'function_call_output', call_id: id, output: 'done' })),
        ],
      },
      '/v1/chat/completions': {
        messages: [
          { role: 'user', content: 'hi' },
          {
            role: 'assistant',
            tool_calls: pairs.map(({ id, written }) => ({
              id,
              type: 'function',
              function: { name: 'f', arguments: written },
            })),
          },
          ...pairs.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'done' })),
        ],
      },
    };
    for (const [path, body] of Object.entries(bodies)) {
      expect((await proxy.post(path, { model: 'gpt-5.5', ...body })).status).toBe(200);
      const sent = proxy.model.requests.at(-1)?.body['input'] as readonly JsonObject[];
      const calls = sent.filter(({ type }) => type === 'function_call');
      expect(calls.map((call) => call['arguments'])).toEqual(WRITTEN);
    }
  });

  it('send schemas to the model unchanged, or in an equivalent form', async () => {
    proxy.use(hello);
    await askAll(proxy, { tools: [{ ...tool, parameters: schema }] });
    for (const { body } of proxy.model.requests.slice(-4)) {
      const sent = (body['tools'] as readonly JsonObject[])[0]?.['parameters'];
      if (hasRelay) expect(JSON.stringify(sent)).toBe(JSON.stringify(schema));
      else {
        expect(sent).toMatchObject({
          properties: {
            tree: { $ref: '#/$defs/tree' },
            any: {},
            none: { allOf: [{ type: 'string' }, { type: 'number' }] },
            pick: { enum: [1, 'a', null], type: ['integer', 'string', 'null'] },
            list: { type: 'array', items: {} },
          },
          required: ['tree'],
          additionalProperties: false,
          $defs: { tree: { properties: { next: { $ref: '#/$defs/tree' }, me: { $ref: '#' } } } },
        });
        expect((sent as { properties: { any: object } }).properties.any).toEqual({});
      }
    }
  });

  it('limit the calls to one if the client asks for that', async () => {
    proxy.use(
      says([
        { text: 'Two at once.' },
        { call: { name: 'f', arguments: '{"n":1}', callId: 'c1' } },
        { call: { name: 'f', arguments: '{"n":2}', callId: 'c2' } },
      ]),
    );
    expect(await askAll(proxy, { tools: [tool], more: { parallel_tool_calls: false } })).toEqual(
      inAllWays({ text: 'Two at once.', calls: [['function', 'f', '{"n":1}']] }),
    );
  });
});

describe('with the relay', async () => {
  const proxy = await openProxy(hello, { PROXY_ENABLE_PARALLEL_TOOL_CALLS: 'false' });
  const custom = (input: string, callId: string) => ({
    item: {
      type: 'custom_tool_call',
      id: `ctc_${callId}`,
      call_id: callId,
      name: 'c',
      input,
      status: 'completed',
    },
  });
  const tools = [tool, { type: 'custom', name: 'c' }];

  it('limits the calls of any kind to one, if the deployment requires that', async () => {
    proxy.use(
      says([custom('a b', 'c1'), custom('c', 'c2'), { call: { name: 'f', arguments: '{}', callId: 'c3' } }]),
    );
    expect(await askAll(proxy, { tools })).toEqual(inAllWays({ calls: [['custom', 'c', 'a b']] }));
    for (const { body } of proxy.model.requests.slice(-4)) expect(body['parallel_tool_calls']).toBe(false);
  });

  it('reports to a client that asks for more that it gets one', async () => {
    proxy.use(hello);
    const answer = await proxy.post('/v1/responses', {
      model: 'gpt-5.5',
      input: 'hi',
      tools,
      parallel_tool_calls: true,
    });
    expect(answer.headers.get('x-proxy-ignored-params')).toBe('parallel_tool_calls');
    expect(await answer.json()).toMatchObject({ parallel_tool_calls: false });
  });
});
