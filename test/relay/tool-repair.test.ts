import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { askAll, askBy, inAllWays } from '../support/four-ways.ts';
import { openProxy } from '../support/open-proxy.ts';
import type { TestProxy } from '../support/proxy.ts';
import { readyChecks } from '../support/ready-checks.ts';
import { hello, inTurn, says } from '../support/scripts.ts';

const tool = (name: string, strict: boolean): JsonObject => ({
  type: 'function',
  name,
  strict,
  parameters: {
    type: 'object',
    properties: { n: { $ref: '#/$defs/count' } },
    required: ['n'],
    additionalProperties: false,
    $defs: { count: { type: 'integer' } },
  },
});
const tools = [tool('f', true), tool('loose', false)];
const call = (name: string, input: string, callId: string) => ({ call: { name, arguments: input, callId } });
const wrong = says([
  { reasoning: { summary: ['Hm.'], encrypted: 'secret' } },
  { text: 'Let me see.' },
  call('f', '{"n": "one"}', 'c1'),
  call('loose', '{"n": "any"}', 'c2'),
]);
const right = says([call('f', '{"n": 1}', 'c3')]);
const RIGHT = ['function', 'f', '{"n": 1}'] as const;
const ANSWERED = 'The arguments do not match the schema of "f": value/n must be integer.';

const results = async (proxy: TestProxy): Promise<readonly string[]> =>
  (await (await proxy.get('/metrics')).text())
    .split('\n')
    .filter((line) => line.startsWith('proxy_tool_repairs_total{'));
const sent = (proxy: TestProxy): readonly JsonObject[] =>
  (proxy.model.requests.at(-1)?.body['input'] ?? []) as readonly JsonObject[];

describe.each([
  ['with the relay', {}],
  ['without the relay', { PROXY_WIRE: 'off' }],
])('strict functions called with the wrong arguments, %s', async (_, env) => {
  const proxy = await openProxy(hello, env);
  await readyChecks(proxy);

  it('are called again, and the client sees only that', async () => {
    for (const way of ['responses', 'chat'] as const) {
      proxy.use(inTurn(wrong, right));
      expect(await askBy(proxy, way, { tools })).toEqual({
        status: 200,
        code: null,
        text: '',
        calls: [RIGHT],
      });
      expect(sent(proxy).map(({ type }) => type)).toEqual([
        'message',
        'reasoning',
        'message',
        'function_call',
        'function_call',
        'function_call_output',
        'function_call_output',
      ]);
      expect(sent(proxy).slice(3)).toMatchObject([
        { call_id: 'c1', name: 'f', arguments: '{"n": "one"}' },
        { call_id: 'c2', name: 'loose', arguments: '{"n": "any"}' },
        { call_id: 'c1', output: expect.stringContaining(ANSWERED) as string },
        { call_id: 'c2', output: expect.stringContaining('was not made') as string },
      ]);
    }
    expect(await results(proxy)).toEqual(['proxy_tool_repairs_total{result="repaired"} 2']);
  });

  it('are passed on unchanged if the model does not correct them, and in streams', async () => {
    proxy.use(says([call('f', '{"n": "one"}', 'c1')]));
    const before = proxy.model.requests.length;
    expect(await askAll(proxy, { tools })).toEqual(inAllWays({ calls: [['function', 'f', '{"n": "one"}']] }));
    expect(proxy.model.requests.length - before).toBe(6);
    expect(await results(proxy)).toContain('proxy_tool_repairs_total{result="passed_on"} 2');
  });
});

describe('PROXY_TOOL_REPAIR_STREAMS', async () => {
  const proxy = await openProxy(hello, {
    PROXY_TOOL_REPAIR_STREAMS: 'true',
    PROXY_TOOL_REPAIR_ATTEMPTS: '2',
  });
  await readyChecks(proxy);

  it('holds calls back in streams, and retries them as often as configured', async () => {
    proxy.use(inTurn(wrong, wrong, right, wrong, wrong, right, wrong, wrong, right, wrong, wrong, right));
    const [responses, responsesStream, chat, chatStream] = await askAll(proxy, { tools });
    expect([responses, chat].map((seen) => [seen?.text, seen?.calls])).toEqual([
      ['', [RIGHT]],
      ['', [RIGHT]],
    ]);
    // Text before a call cannot be taken back.
    expect([responsesStream, chatStream].map((seen) => [seen?.text, seen?.calls])).toEqual([
      ['Let me see.Let me see.', [RIGHT]],
      ['Let me see.\n\nLet me see.', [RIGHT]],
    ]);
  });

  it('passes the text of an answer on as it is written', async () => {
    proxy.use(says([{ text: 'one two', deltas: ['one ', 'two'], end: 'open' }, { hang: true }]));
    const stream = await proxy.openai.chat.completions.create({
      model: 'gpt-5.5',
      messages: [{ role: 'user', content: 'hi' }],
      stream: true,
      tools: [{ type: 'function', function: { name: 'f', strict: true, parameters: { type: 'object' } } }],
    });
    let text = '';
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      if (text === 'one two') break;
    }
    expect(text).toBe('one two');
  });

  it('gives each item of a stream its own id, and adds the usage up', async () => {
    proxy.use(inTurn(wrong, right));
    const stream = proxy.openai.responses.stream({
      model: 'gpt-5.5',
      input: 'hi',
      reasoning: { summary: 'auto' },
      tools: tools as never,
    });
    const response = await stream.finalResponse();
    expect(response.output.map(({ type }) => type)).toEqual(['reasoning', 'message', 'function_call']);
    expect(new Set(response.output.map(({ id }) => id)).size).toBe(3);
    expect(response.usage?.output_tokens).toBeGreaterThan(0);
  });
});
