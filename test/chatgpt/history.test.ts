import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { hello, inTurn, says } from '../support/scripts.ts';
import { shareProxy } from './hooks.ts';
import { itemsSent, outputText } from './proxy.ts';
import type { Answered, ChatGptProxy } from './proxy.ts';

let proxy: ChatGptProxy;
shareProxy((started) => {
  proxy = started;
});

const HELLO = 'Hello from the scripted model.';
const MODELS = ['gpt-5.5', 'gpt-6.1-sol'];
const LONG = 'x'.repeat(90);

const ask = (input: readonly JsonObject[], more: JsonObject = {}): Promise<Answered> =>
  proxy.post('/v1/responses', { model: 'gpt-6.1-sol', input, ...more });
const user = (content: string): JsonObject => ({ role: 'user', content });
const typesSent = (at: number): readonly unknown[] =>
  itemsSent(proxy.backend.modelRequests.at(at)).map((item) => item['role'] ?? item['type']);
const ignored = ({ headers }: Answered): readonly string[] =>
  (headers.get('x-proxy-ignored-params') ?? '').split(',').filter((name) => name !== '');

describe('output sent back as input', () => {
  it.each(MODELS)("keeps the model's order for many rounds (%s)", async (model) => {
    const thought = (round: number) => ({
      reasoning: { summary: [`Round ${String(round)}.`], encrypted: `thought-${model}-${String(round)}` },
    });
    const WEATHER = { type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} } };
    proxy.backend.use(
      inTurn(
        says([thought(0), { text: 'Answer 0.' }]),
        says([thought(1), { call: { name: 'get_weather', arguments: {}, callId: 'call_1' } }]),
        says([thought(2), { text: 'Answer 1.', phase: 'final_answer' }]),
        says([{ text: 'Answer 2.' }]),
      ),
    );
    const more = { model, include: ['reasoning.encrypted_content'], tools: [WEATHER] };
    const input: JsonObject[] = [user('Question 0?')];
    for (const next of [
      [user('Question 1?')],
      [{ type: 'function_call_output', call_id: 'call_1', output: 'Sun.' }],
      [user('Question 2?')],
      [],
    ]) {
      const answered = await ask(input, more);
      expect(answered.status).toBe(200);
      input.push(...(answered.json['output'] as JsonObject[]), ...next);
    }
    expect(proxy.backend.modelRequests.map(({ broken }) => broken)).toEqual([[], [], [], []]);
    expect(typesSent(-1)).toEqual([
      'user',
      'reasoning',
      'assistant',
      'user',
      'reasoning',
      'function_call',
      'function_call_output',
      'reasoning',
      'assistant',
      'user',
    ]);
  });

  it.each(MODELS)('works when streamed without requesting reasoning (%s)', async (model) => {
    proxy.backend.use(inTurn(says([{ text: 'Answer 0.' }]), hello));
    const first = await ask([user('Question 0?')], { model, stream: true });
    const second = await ask(
      [user('Question 0?'), ...(first.json['output'] as JsonObject[]), user('Question 1?')],
      { model, stream: true },
    );
    expect(outputText(second)).toBe(HELLO);
    expect(typesSent(-1)).toEqual(['user', 'assistant', 'user']);
  });
});

describe('reasoning that a client cannot send back', () => {
  it.each(MODELS)('returns to the model before what followed it (%s)', async (model) => {
    const id = (name: string): string => `call_Ab3dEf6hIj9lMn2pQr5t${name}`;
    const thought = (name: string) => ({
      reasoning: { summary: [], encrypted: `thought-${model}-${name}`, id: `rs_${name}` },
    });
    const call = (name: string) => ({ call: { name: 'get_weather', arguments: {}, callId: id(name) } });
    proxy.backend.use(
      inTurn(
        says([thought('a'), call('a')]),
        says([thought('b'), { text: 'One more.' }, thought('c'), call('b')]),
        hello,
      ),
    );
    const tools = [
      { type: 'function', function: { name: 'get_weather', parameters: { type: 'object', properties: {} } } },
    ];
    const messages: JsonObject[] = [user('Weather?')];
    for (const stream of [false, false, true]) {
      const answered = await proxy.post('/v1/chat/completions', { model, messages, tools, stream });
      expect([answered.status, ignored(answered)]).toEqual([200, []]);
      const [choice] = (answered.json['choices'] ?? []) as { message?: JsonObject }[];
      const calls = (choice?.message?.['tool_calls'] ?? []) as JsonObject[];
      if (choice?.message !== undefined) messages.push(choice.message);
      messages.push(
        ...calls.map((one) => ({ role: 'tool', tool_call_id: one['id'] ?? '', content: 'Sun.' })),
      );
    }
    expect(proxy.backend.modelRequests.map(({ broken }) => broken)).toEqual([[], [], []]);
    const sent = itemsSent(proxy.backend.modelRequests.at(-1));
    expect(sent.map((item) => item['encrypted_content'] ?? item['role'] ?? item['type'])).toEqual([
      'user',
      `thought-${model}-a`,
      'function_call',
      'function_call_output',
      `thought-${model}-b`,
      'assistant',
      `thought-${model}-c`,
      'function_call',
      'function_call_output',
    ]);
  });
});

describe('histories of real clients', () => {
  it.each(MODELS)('lose ids that are not of this service (%s)', async (model) => {
    const answered = await ask(
      [
        { ...user('Question?'), type: 'message', id: 'chatcmpl-1' },
        {
          type: 'message',
          role: 'assistant',
          id: `msg_${LONG}`,
          content: [{ type: 'output_text', text: 'Answer.' }],
        },
        { type: 'function_call', id: 'call_1', call_id: 'call_1', name: 'f', arguments: '{}' },
        { type: 'function_call_output', id: 'out-1', call_id: 'call_1', output: 'Sun.' },
        user('And?'),
      ],
      { model },
    );
    expect([answered.status, outputText(answered)]).toEqual([200, HELLO]);
    expect(typesSent(-1)).toEqual(['user', 'assistant', 'function_call', 'function_call_output', 'user']);
  });

  it.each(MODELS)('have long call ids shortened equally on both sides (%s)', async (model) => {
    const call = (id: string): JsonObject[] => [
      { type: 'function_call', call_id: id, name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: id, output: id },
    ];
    const answered = await ask([user('Go.'), ...call(`${LONG}1`), ...call(`${LONG}2`), ...call('short')], {
      model,
    });
    expect(outputText(answered)).toBe(HELLO);
    const ids = itemsSent(proxy.backend.modelRequests.at(-1)).flatMap((item) => item['call_id'] ?? []);
    expect([ids.length, new Set(ids).size, ids.includes('short')]).toEqual([6, 3, true]);
  });

  it('have a long cache key shortened, still distinct', async () => {
    for (const key of [`${LONG}1`, `${LONG}2`, `${LONG}1`])
      expect(outputText(await ask([user('Hello?')], { prompt_cache_key: key }))).toBe(HELLO);
    const keys = proxy.backend.modelRequests.map(({ body }) => body['prompt_cache_key']);
    expect([keys[0] === keys[2], keys[0] === keys[1]]).toEqual([true, false]);
  });

  it.each(MODELS)('lose reasoning without its content, which is reported (%s)', async (model) => {
    const answered = await ask(
      [
        user('Question?'),
        { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Thinking.' }] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Answer.' }] },
        user('And?'),
      ],
      { model },
    );
    expect([answered.status, outputText(answered)]).toEqual([200, HELLO]);
    expect(typesSent(-1)).toEqual(['user', 'assistant', 'user']);
    expect(ignored(answered).join()).toContain('input[1]');
  });

  it.each(MODELS)(
    'with reasoning of another account are sent again without it, once, which is reported (%s)',
    async (model) => {
      for (const stream of [false, true]) {
        const answered = await ask(
          [
            user('Question?'),
            { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: `of-another-account-${model}` },
            { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Answer.' }] },
            user('And?'),
          ],
          { model, stream },
        );
        expect([answered.status, outputText(answered)]).toEqual([200, HELLO]);
        expect(typesSent(-1)).toEqual(['user', 'assistant', 'user']);
        expect(ignored(answered).join()).toContain('input[1]');
      }
      expect(proxy.backend.modelRequests.map(({ broken }) => broken)).toEqual([['reasoning.own'], [], []]);
    },
  );
});

describe('the identity of a conversation', () => {
  const identity = (at: number): readonly unknown[] => {
    const request = proxy.backend.modelRequests.at(at);
    return [request?.body['prompt_cache_key'], request?.headers['session-id'], request?.headers['thread-id']];
  };

  it('is the same for its turns, and differs from other conversations', async () => {
    const input: JsonObject[] = [user('Tell me about Paris.')];
    for (let turn = 0; turn < 3; turn += 1) {
      const answered = await ask(input);
      input.push(...(answered.json['output'] as JsonObject[]), user(`More, ${String(turn)}.`));
    }
    await ask([user('Tell me about Oslo.')]);
    expect(new Set([...identity(0), ...identity(1), ...identity(2)]).size).toBe(1);
    expect(identity(3)[0]).not.toBe(identity(0)[0]);
  });

  it('stays when one of its turns uses the other request format', async () => {
    const input: JsonObject[] = [user('Tell me about Rome.')];
    const tools = [{ type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }];
    const first = await ask(input, { tools });
    await ask([...input, ...(first.json['output'] as JsonObject[]), user('Look.')], {
      tools,
      tool_choice: 'required',
    });
    expect(new Set([...identity(0), ...identity(1)]).size).toBe(1);
  });
});
