import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello, inTurn, says } from '../support/scripts.ts';
import { sentItems } from './responses-sent.ts';

/** Tool conversations reach the model unchanged. */

const relayed = await openProxy(hello, { PROXY_STRICT_PARAMS: 'true' });
const unrelayed = await openProxy(hello, { PROXY_WIRE: 'off' });
const PROXIES = { 'with the relay, in strict mode': relayed, 'without the relay': unrelayed };

const MODEL = 'gpt-5.5';
const TOOL = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } };
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const text = (role: string, words: string): JsonObject => ({
  type: 'message',
  role,
  content: [{ type: role === 'assistant' ? 'output_text' : 'input_text', text: words }],
});
const call = (id: string, name = 'look'): JsonObject => ({
  type: 'function_call',
  call_id: id,
  name,
  arguments: `{ "of" : "${id}" }`,
});
const output = (id: string, given: unknown = `Seen ${id}.`): JsonObject =>
  ({ type: 'function_call_output', call_id: id, output: given }) as JsonObject;

const parts = [
  { type: 'input_text', text: 'Seen:' },
  { type: 'input_image', image_url: PIXEL },
];

/** Conversations that end with an item for the model to answer. */
const CONVERSATIONS: Readonly<Record<string, readonly JsonObject[]>> = {
  'one call after the other': [text('user', 'Go.'), call('a'), output('a'), call('b'), output('b')],
  'parallel calls with outputs in another order': [
    text('user', 'Go.'),
    call('a'),
    call('b'),
    call('c'),
    output('c'),
    output('a'),
    output('b'),
  ],
  'messages before, between and behind the outputs': [
    text('developer', 'Be kind.'),
    text('user', 'Go.'),
    text('assistant', 'Let me see.'),
    call('a'),
    call('b'),
    text('user', 'Hurry.'),
    output('b'),
    text('developer', 'The user is in a hurry.'),
    output('a'),
    text('user', 'And?'),
    text('developer', 'Be brief.'),
  ],
  'an id that comes again': [
    text('user', 'Go.'),
    call('a'),
    output('a'),
    text('user', 'Again.'),
    call('a'),
    output('a', 'Seen again.'),
  ],
  'a call of a tool that is no longer declared': [text('user', 'Go.'), call('a', 'shell'), output('a')],
  'outputs with images, without words, and long ones': [
    text('user', 'Go.'),
    call('a'),
    call('b'),
    call('c'),
    output('a', parts),
    output('b', ''),
    output('c', 'word '.repeat(40_000)),
  ],
  'thirty rounds': [
    text('user', 'Go.'),
    ...Array.from({ length: 30 }, (_, round) => [call(`r${round}`), output(`r${round}`)]).flat(),
  ],
};

const codeOf = async (response: Response): Promise<readonly unknown[]> => {
  const { error } = (await response.json()) as { error?: { param?: unknown; message?: unknown } };
  return [response.status, error?.param, error?.message];
};

describe.each(Object.entries(PROXIES))('a tool conversation, %s', (_, proxy) => {
  it.each(Object.entries(CONVERSATIONS))('reaches the model unchanged: %s', async (_name, input) => {
    proxy.use(hello);
    const answered = await proxy.post('/v1/responses', { model: MODEL, input, tools: [TOOL] });
    expect([answered.status, answered.headers.get('x-proxy-ignored-params')]).toEqual([200, null]);
    expect(sentItems(proxy.model)).toEqual(input);
  });

  it('may have outputs with a success flag, which the model reads', async () => {
    proxy.use(hello);
    const answered = await proxy.post('/v1/responses', {
      model: MODEL,
      tools: [TOOL],
      input: [
        text('user', 'Go.'),
        call('a'),
        call('b'),
        output('a', { content: 'No such thing.', success: false }),
        { ...output('b', { content: parts, success: true }), type: 'tool_output' },
      ],
    });
    expect([answered.status, answered.headers.get('x-proxy-ignored-params')]).toEqual([200, null]);
    expect(sentItems(proxy.model).slice(3)).toEqual([
      output('a', 'Error: The tool call failed.\nNo such thing.'),
      output('b', parts),
    ]);
  });

  it('through Chat reaches it too, with texts, parts and images as outputs', async () => {
    proxy.use(hello);
    const chatCall = (id: string) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } });
    const answered = await proxy.post('/v1/chat/completions', {
      model: MODEL,
      tools: [{ type: 'function', function: { name: 'look' } }],
      messages: [
        { role: 'user', content: 'Go.' },
        {
          role: 'assistant',
          content: 'Let me see.',
          tool_calls: [chatCall('a'), chatCall('b'), chatCall('c')],
        },
        { role: 'tool', tool_call_id: 'c', content: [{ type: 'image_url', image_url: { url: PIXEL } }] },
        { role: 'tool', tool_call_id: 'a', content: 'Seen a.' },
        { role: 'user', content: 'Hurry.' },
        { role: 'tool', tool_call_id: 'b', content: [{ type: 'text', text: 'Seen b.' }] },
        { role: 'assistant', content: null, function_call: { name: 'look', arguments: '{}' } },
        { role: 'function', name: 'look', content: 'Seen d.' },
      ],
    });
    expect(answered.status).toBe(200);
    const sent = sentItems(proxy.model);
    const calls = sent.flatMap((item) => (item['type'] === 'function_call' ? [item['call_id']] : []));
    expect(sent.flatMap((item) => ('output' in item ? [[item['call_id'], item['output']]] : []))).toEqual([
      ['c', [{ type: 'input_image', image_url: PIXEL }]],
      ['a', 'Seen a.'],
      ['b', [{ type: 'input_text', text: 'Seen b.' }]],
      [calls[3], 'Seen d.'],
    ]);
    expect(calls.slice(0, 3)).toEqual(['a', 'b', 'c']);
  });

  it('with an unmatched call or output is rejected, as by OpenAI', async () => {
    const before = proxy.model.requests.length;
    const ask = (...input: readonly JsonObject[]) =>
      proxy.post('/v1/responses', { model: MODEL, input: [text('user', 'Go.'), ...input] }).then(codeOf);
    expect([
      await ask(call('a'), call('b'), output('b')),
      await ask(output('a')),
      await ask(call('a'), { ...output('a'), type: 'custom_tool_call_output' }),
    ]).toEqual([
      [400, 'input', expect.stringContaining('No tool output found for function call a')],
      [400, 'input', expect.stringContaining('No tool call found for function call output')],
      [400, 'input', expect.stringContaining('No tool call found for function call output')],
    ]);
    expect(proxy.model.requests.length).toBe(before);
  });

  it('continues after its app-server was replaced', async () => {
    const ids = ['call_Ab3dEf6hIj9lMn2pQr5ta', 'call_Ab3dEf6hIj9lMn2pQr5tb'];
    const thought = (name: string) => ({ reasoning: { summary: [], encrypted: name } });
    proxy.use(
      inTurn(
        says([thought('one'), ...ids.map((callId) => ({ call: { name: 'look', arguments: '{}', callId } }))]),
        says([thought('two'), { text: 'Done.' }]),
      ),
    );
    const ask = { model: MODEL, tools: [TOOL] };
    const input = [text('user', 'Go.')];
    const first = (await (await proxy.post('/v1/responses', { ...ask, input })).json()) as JsonObject;
    const [worker] = proxy.app.workers();
    process.kill(worker?.pid ?? 0, 'SIGKILL');
    const next = [...input, ...(first['output'] as JsonObject[]), ...ids.map((id) => output(id))];
    const second = (await (await proxy.post('/v1/responses', { ...ask, input: next })).json()) as JsonObject;
    expect(second['output']).toMatchObject([{ type: 'reasoning' }, { content: [{ text: 'Done.' }] }]);
    expect(sentItems(proxy.model).map((item) => item['encrypted_content'] ?? item['type'])).toEqual([
      'message',
      'one',
      'function_call',
      'function_call',
      'function_call_output',
      'function_call_output',
    ]);
  });
});

describe('a tool conversation on several instances', () => {
  const callId = 'call_Ab3dEf6hIj9lMn2pQr5tc';
  const ask = { model: MODEL, tools: [TOOL], input: [text('user', 'Go.')] };

  /** The second request of the conversation, at an instance with a store of its own. */
  const continued = async (more: JsonObject): Promise<Response> => {
    const thought = { reasoning: { summary: [], encrypted: 'far away' } };
    relayed.use(says([thought, { call: { name: 'look', arguments: '{}', callId } }]));
    unrelayed.use(says([{ text: 'Done.' }]));
    const first = (await (await relayed.post('/v1/responses', { ...ask, ...more })).json()) as JsonObject;
    const input = [...ask.input, ...(first['output'] as JsonObject[]), output(callId)];
    return unrelayed.post('/v1/responses', { ...ask, ...more, input });
  };

  it('continues on an instance that has not seen it, if it carries its reasoning', async () => {
    const second = await continued({ include: ['reasoning.encrypted_content'], store: false });
    expect(await second.json()).toMatchObject({ output: [{ content: [{ text: 'Done.' }] }] });
  });

  it('has to carry its reasoning, or share a store', async () => {
    const second = await continued({});
    expect([second.status, await second.json()]).toMatchObject([
      404,
      { error: { message: expect.stringMatching(/^Item with id 'rs_\w+' not found\./), param: 'input' } },
    ]);
  });
});
