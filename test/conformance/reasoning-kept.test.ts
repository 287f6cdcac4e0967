import OpenAI from 'openai';
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions';
import type { ResponseInputItem } from 'openai/resources/responses/responses';
import { describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello, http400, inTurn, says } from '../support/scripts.ts';
import { sentBody, sentItems } from './responses-sent.ts';

/** Reasoning before a tool call is restored in later requests, although clients do not send it back. */

const KEYS = ['sk-one-0123456789abcdef', 'sk-two-0123456789abcdef'] as const;
const env = { PROXY_API_KEY: KEYS.join(',') };
const PROXIES = {
  'with the relay': await openProxy(hello, env),
  'without the relay': await openProxy(hello, { ...env, PROXY_WIRE: 'off' }),
};
const clientOf = (url: string, apiKey: string = KEYS[0]): OpenAI =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });

const schema = { type: 'object', properties: { city: { type: 'string' } } };
const CHAT_TOOL = { type: 'function' as const, function: { name: 'get_weather', parameters: schema } };
const TOOL = { type: 'function' as const, name: 'get_weather', parameters: schema, strict: false };
const MODEL = 'gpt-5.5';
const user = (content: string) => ({ role: 'user', content }) as const;

const thought = (name: string) => ({
  reasoning: { summary: [`About ${name}.`], encrypted: `sealed-${name}`, id: `rs_${name}` },
});
const call = (callId: string) => ({
  call: { name: 'get_weather', arguments: { city: callId }, callId, id: `fc_${callId}` },
});
/** A call id in OpenAI's form. */
const idOf = (name: string): string => `call_Ab3dEf6hIj9lMn2pQr5t${name}`;

/** The items that reached the model, one word each. */
const sent = (proxy: (typeof PROXIES)['with the relay']): readonly unknown[] =>
  sentItems(proxy.model).map((item) => item['encrypted_content'] ?? item['role'] ?? item['type']);

describe.each(Object.entries(PROXIES))('reasoning, %s', (_, proxy) => {
  const chat = async (
    messages: ChatCompletionMessageParam[],
    { apiKey, stream = false, model = MODEL }: { apiKey?: string; stream?: boolean; model?: string } = {},
  ) => {
    const client = clientOf(proxy.url, apiKey);
    const ask = { model, messages, tools: [CHAT_TOOL] };
    const { choices } = stream
      ? await client.chat.completions.stream(ask).finalChatCompletion()
      : await client.chat.completions.create(ask);
    const message = choices[0]?.message;
    if (message === undefined) throw new Error('no choice');
    return message;
  };
  const outputs = (message: OpenAI.Chat.ChatCompletionMessage): ChatCompletionMessageParam[] =>
    (message.tool_calls ?? []).map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'Sun.' }));

  it.each([false, true])('is restored in every round of a chat (stream: %s)', async (stream) => {
    const id = (round: string): string => idOf(`${round}${String(stream)}`);
    proxy.use(
      inTurn(
        says([thought('1'), call(id('1'))]),
        says([thought('2'), { text: 'And now both.' }, call(id('2a')), call(id('2b'))]),
        says([thought('3'), { text: 'Sun in all of them.' }]),
      ),
    );
    const messages: ChatCompletionMessageParam[] = [user('Weather?')];
    for (let round = 0; round < 2; round += 1) {
      const message = await chat(messages, { stream });
      messages.push(message, ...outputs(message).toReversed());
    }
    messages.push({ role: 'developer', content: 'Be brief.' });
    const last = await chat(messages, { stream });
    expect(last.content).toBe('Sun in all of them.');
    expect(sent(proxy)).toEqual([
      'user',
      'sealed-1',
      'function_call',
      'function_call_output',
      'sealed-2',
      'assistant',
      'function_call',
      'function_call',
      'function_call_output',
      'function_call_output',
      'developer',
    ]);
    expect(sentBody(proxy.model)['include']).toEqual(['reasoning.encrypted_content']);
  });

  it('is not restored for another key or model, or for an invented call', async () => {
    proxy.use(inTurn(says([thought('k'), call(idOf('k'))]), hello));
    const messages: ChatCompletionMessageParam[] = [user('Weather?')];
    const message = await chat(messages);
    messages.push(message, ...outputs(message));
    await chat(messages, { apiKey: KEYS[1] });
    expect(sent(proxy)).toEqual(['user', 'function_call', 'function_call_output']);
    await chat(messages, { model: 'gpt-5.6-luna' });
    expect(sent(proxy)).toEqual(['user', 'function_call', 'function_call_output']);
    await chat(messages);
    expect(sent(proxy)).toEqual(['user', 'sealed-k', 'function_call', 'function_call_output']);
  });

  it("is restored for a Responses client that sends none or only a summary; otherwise the client's own is used", async () => {
    const ask = { model: MODEL, tools: [TOOL] };
    const output = { type: 'function_call_output' as const, call_id: idOf('r'), output: 'Sun.' };
    const rounds = async (more: object, change: (item: ResponseInputItem) => ResponseInputItem) => {
      proxy.use(inTurn(says([thought('r'), call(idOf('r'))]), hello));
      const client = clientOf(proxy.url);
      const first = await client.responses.create({ ...ask, ...more, input: [user('Weather?')] });
      const input = [user('Weather?'), ...(first.output as ResponseInputItem[]).map(change), output];
      const { response } = await client.responses.create({ ...ask, ...more, input }).withResponse();
      return [sent(proxy), response.headers.get('x-proxy-ignored-params')];
    };

    const WHOLE = ['user', 'sealed-r', 'function_call', 'function_call_output'];
    const same = (item: ResponseInputItem): ResponseInputItem => item;
    expect(await rounds({}, same)).toEqual([WHOLE, null]);
    expect(await rounds({ reasoning: { summary: 'auto' } }, same)).toEqual([WHOLE, null]);
    const include = { include: ['reasoning.encrypted_content'] };
    expect(await rounds(include, same)).toEqual([WHOLE, null]);
    const changed = await rounds(include, (item) =>
      item.type === 'reasoning' ? { ...item, encrypted_content: 'sealed-own' } : item,
    );
    expect(changed).toEqual([['user', 'sealed-own', 'function_call', 'function_call_output'], null]);
  });

  it.each([
    ['cannot read it any more', 'invalid_encrypted_content', MODEL],
    ['takes none', null, 'gpt-5.6-luna'],
  ])('is dropped silently if the backend %s, and not tried again', async (_why, code, model) => {
    const refuses: Script = (request, connection) =>
      JSON.stringify(request.body['input']).includes('sealed-u')
        ? http400('There is a reasoning item in it.', null, code)(request, connection)
        : hello(request, connection);
    proxy.use(inTurn(says([thought('u'), call(idOf('u'))]), refuses));
    const messages: ChatCompletionMessageParam[] = [user('Weather?')];
    const message = await chat(messages, { model });
    messages.push(message, ...outputs(message));
    const ask = { model, messages, tools: [CHAT_TOOL] };
    for (const tries of [2, 1]) {
      const before = proxy.model.requests.length;
      const { data, response } = await clientOf(proxy.url).chat.completions.create(ask).withResponse();
      expect([data.choices[0]?.message.content, response.headers.get('x-proxy-ignored-params')]).toEqual([
        'Hello from the scripted model.',
        null,
      ]);
      expect(proxy.model.requests.length - before).toBe(tries);
    }
  });

  it('is not blamed if a request is rejected without it, too', async () => {
    proxy.use(inTurn(says([thought('w'), call(idOf('w'))]), http400('No.'), http400('No.'), hello));
    const messages: ChatCompletionMessageParam[] = [user('Weather?')];
    const message = await chat(messages);
    messages.push(message, ...outputs(message));
    await expect(chat(messages)).rejects.toThrow('No.');
    await chat(messages);
    expect(sent(proxy)).toEqual(['user', 'sealed-w', 'function_call', 'function_call_output']);
  });

  it('is kept for a client that disconnects right after a call', async () => {
    proxy.use(inTurn(says([thought('l'), call(idOf('l')), { hang: true }]), hello));
    const client = clientOf(proxy.url);
    const ask = { model: MODEL, tools: [TOOL] };
    const items: ResponseInputItem[] = [user('Weather?')];
    const stream = await client.responses.create({ ...ask, input: items, stream: true });
    for await (const event of stream) {
      if (event.type !== 'response.output_item.done' || event.item.type !== 'function_call') continue;
      items.push(event.item, { type: 'function_call_output', call_id: idOf('l'), output: 'Sun.' });
      // Leaving the loop disconnects.
      break;
    }
    await client.responses.create({ ...ask, input: items });
    expect(sent(proxy)).toEqual(['user', 'sealed-l', 'function_call', 'function_call_output']);
  });

  it('of an answer with an undeclared call stays with it', async () => {
    proxy.use(
      inTurn(
        says([thought('x'), { call: { name: 'no_such_tool', arguments: {}, callId: 'call_x' } }]),
        says([thought('y'), call(idOf('y'))]),
        hello,
      ),
    );
    const message = await chat([user('Weather?')]);
    await chat([user('Weather?'), message, ...outputs(message)]);
    expect(sent(proxy)).toEqual(['user', 'sealed-y', 'function_call', 'function_call_output']);
  });
});

describe('the reasoning memory', () => {
  it('has metrics for its size and its hits', async () => {
    const text = await (
      await fetch(`${PROXIES['with the relay'].url}/metrics`, {
        headers: { authorization: `Bearer ${KEYS[0]}` },
      })
    ).text();
    expect(Number(/^proxy_reasoning_memory_bytes (\d+)$/mu.exec(text)?.[1])).toBeGreaterThan(1_000);
    expect(Number(/^proxy_reasoning_recalled_total (\d+)$/mu.exec(text)?.[1])).toBeGreaterThan(5);
  });
});
