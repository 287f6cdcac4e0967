import type OpenAI from 'openai';
import { describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello, incompleteMaxTokens, inTurn, says, slow, toolCall } from '../support/scripts.ts';
import { until } from '../support/until.ts';
import { sentItems } from './responses-sent.ts';

/** `conversation` in `POST /v1/responses`. */

const proxy = await openProxy(hello);
const { openai } = proxy;
const MODEL = 'gpt-5.5';

/** The texts of a conversation, the oldest first. */
const textsIn = async (id: string): Promise<readonly string[]> => {
  const texts: string[] = [];
  for await (const item of openai.conversations.items.list(id, { order: 'asc' })) texts.push(textOf(item));
  return texts;
};

const textOf = (item: object): string => {
  const { type, content } = item as { type: string; content?: readonly { text?: string }[] };
  return content?.[0]?.text ?? type;
};

/** The texts that the model read last. */
const sentTexts = (): readonly string[] => sentItems(proxy.model).map(textOf);

const errorOf = (asking: Promise<unknown>) =>
  asking.then(
    () => null,
    (error: InstanceType<typeof OpenAI.APIError>) => ({ status: error.status, ...(error.error as object) }),
  );

const answers = (text: string): Script => says([{ text }]);

describe('a response in a conversation', () => {
  it('reads its items, and adds its input and output', async () => {
    const { id } = await openai.conversations.create({
      items: [{ role: 'user', content: 'my name is Ada' }],
    });
    proxy.use(answers('Hello, Ada.'));
    const first = await openai.responses.create({ model: MODEL, input: 'hello', conversation: id });
    expect([first.conversation, first.previous_response_id]).toEqual([{ id }, null]);
    expect(sentTexts()).toEqual(['my name is Ada', 'hello']);
    proxy.use(answers('Ada.'));
    await openai.responses.create({ model: MODEL, input: 'my name?', conversation: { id } });
    expect(sentTexts()).toEqual(['my name is Ada', 'hello', 'Hello, Ada.', 'my name?']);
    expect(await textsIn(id)).toEqual(['my name is Ada', 'hello', 'Hello, Ada.', 'my name?', 'Ada.']);
    // Output items keep the ids that the response showed.
    const { data } = await openai.conversations.items.list(id, { limit: 3 });
    expect(data.map((item) => item.id)).toContain(first.output[0]?.id);
  });

  it('adds to it when a stream has ended, before its end is shown', async () => {
    const { id } = await openai.conversations.create();
    proxy.use(answers('one two'));
    const stream = await openai.responses.create({
      model: MODEL,
      input: 'count',
      conversation: id,
      stream: true,
    });
    const seen: unknown[] = [];
    for await (const event of stream) {
      if (event.type === 'response.created') seen.push(event.response.conversation);
      if (event.type === 'response.completed') seen.push(event.response.conversation, await textsIn(id));
    }
    expect(seen).toEqual([{ id }, { id }, ['count', 'one two']]);
  });

  it('adds to it with store: false, and is not found itself', async () => {
    const { id } = await openai.conversations.create();
    proxy.use(answers('noted'));
    const response = await openai.responses.create({
      model: MODEL,
      input: 'remember',
      conversation: id,
      store: false,
    });
    expect(response).toMatchObject({ store: false, conversation: { id } });
    expect(await textsIn(id)).toEqual(['remember', 'noted']);
    const next = { model: MODEL, input: 'x', previous_response_id: response.id };
    expect(await errorOf(openai.responses.create(next))).toMatchObject({
      status: 400,
      code: 'previous_response_not_found',
    });
  });

  it('runs tools over several turns', async () => {
    const tools = [
      { type: 'function' as const, name: 'get_weather', parameters: {}, strict: false, description: 'x' },
    ];
    const { id } = await openai.conversations.create();
    const ask = { model: MODEL, conversation: id, tools };
    proxy.use(inTurn(toolCall(), answers('It is sunny.')));
    await openai.responses.create({ ...ask, input: 'weather?' });
    // Nothing else can follow an open call.
    expect(await errorOf(openai.responses.create({ ...ask, input: 'hello?' }))).toMatchObject({
      status: 400,
      param: 'input',
      message: 'No tool output found for function call call_weather.',
    });
    await openai.responses.create({
      ...ask,
      input: [{ type: 'function_call_output', call_id: 'call_weather', output: 'sun' }],
    });
    expect(await textsIn(id)).toEqual(['weather?', 'function_call', 'function_call_output', 'It is sunny.']);
  });

  it('adds nothing if it fails', async () => {
    const { id } = await openai.conversations.create();
    proxy.use((_, connection) => connection.reply(400, { error: { message: 'no', code: 'invalid_value' } }));
    expect(
      await errorOf(openai.responses.create({ model: MODEL, input: 'a', conversation: id })),
    ).toMatchObject({
      status: 400,
    });
    proxy.use(says([{ text: 'half' }, { fail: { code: 'server_error', message: 'broken' } }]));
    const stream = await openai.responses.create({
      model: MODEL,
      input: 'b',
      conversation: id,
      stream: true,
    });
    await expect(stream.toReadableStream().pipeTo(new WritableStream())).rejects.toThrow('broken');
    expect(await textsIn(id)).toEqual([]);
    proxy.use(hello);
    await openai.responses.create({ model: MODEL, input: 'c', conversation: id });
    expect(sentTexts()).toEqual(['c']);
  });

  it('adds an incomplete answer', async () => {
    const { id } = await openai.conversations.create();
    proxy.use(incompleteMaxTokens);
    const response = await openai.responses.create({ model: MODEL, input: 'a', conversation: id });
    expect(response.status).toBe('incomplete');
    expect(await textsIn(id)).toEqual(['a', response.output_text]);
  });

  it('adds nothing if its client leaves', async () => {
    const { id } = await openai.conversations.create();
    proxy.use(slow(100));
    const left = new AbortController();
    const ask = { model: MODEL, input: 'a', conversation: id, stream: true as const };
    const stream = await openai.responses.create(ask, { signal: left.signal });
    for await (const event of stream) if (event.type === 'response.output_text.delta') break;
    left.abort();
    proxy.use(answers('next'));
    // The lock is free at once.
    await openai.responses.create({ model: MODEL, input: 'b', conversation: id });
    expect(sentTexts()).toEqual(['b']);
    await until(() => proxy.app.answersUnderWay() === 0);
    expect(await textsIn(id)).toEqual(['b', 'next']);
  });

  it('can be continued by itself, which does not change the conversation', async () => {
    const { id } = await openai.conversations.create();
    proxy.use(answers('one'));
    const first = await openai.responses.create({ model: MODEL, input: '1', conversation: id });
    proxy.use(answers('two'));
    await openai.responses.create({ model: MODEL, input: '2', conversation: id });
    proxy.use(answers('other'));
    const other = await openai.responses.create({
      model: MODEL,
      input: '2b',
      previous_response_id: first.id,
    });
    expect([sentTexts(), other.conversation ?? null]).toEqual([['1', 'one', '2b'], null]);
    expect(await textsIn(id)).toEqual(['1', 'one', '2', 'two']);
    // An item that is deleted from the conversation is not sent to the model any more.
    const [item] = (await openai.conversations.items.list(id, { order: 'asc' })).data;
    await openai.conversations.items.delete(item?.id ?? '', { conversation_id: id });
    await openai.responses.create({ model: MODEL, input: '3b', previous_response_id: other.id });
    expect(sentTexts()).toEqual(['one', '2b', 'other', '3b']);
    // Its responses outlive it.
    await openai.conversations.delete(id);
    await openai.responses.create({ model: MODEL, input: '4b', previous_response_id: first.id });
    expect(sentTexts()).toEqual(['one', '4b']);
  });

  it('can be a compaction', async () => {
    const { id } = await openai.conversations.create({ items: [{ role: 'user', content: 'a long story' }] });
    proxy.use(answers('A summary.'));
    const trigger = { type: 'compaction_trigger' } as never;
    const response = await openai.responses.create({ model: MODEL, input: [trigger], conversation: id });
    expect(response.output.map(({ type }) => type)).toEqual(['compaction']);
    proxy.use(hello);
    await openai.responses.create({ model: MODEL, input: 'next', conversation: id });
    expect(await textsIn(id)).toEqual([
      'a long story',
      'compaction_trigger',
      'compaction',
      'next',
      'Hello from the scripted model.',
    ]);
  });

  it('cannot have a previous response too', async () => {
    const { id } = await openai.conversations.create();
    const ask = { model: MODEL, input: 'x', conversation: id, previous_response_id: 'resp_1' };
    expect(await errorOf(openai.responses.create(ask))).toMatchObject({
      status: 400,
      param: 'previous_response_id',
      code: 'mutually_exclusive_parameters',
    });
  });
});
