import type OpenAI from 'openai';
import { afterAll, afterEach, describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import { commentaryThenFinal, hello, reasoningThenText, says, usageLimit } from '../support/scripts.ts';
import { eventsOf, readSse } from '../support/sse.ts';
import { collect } from '../support/turn-events.ts';
import { readUseTools } from '../support/use-tool-grammar.ts';
import { openCheckedChat } from './chat-checked.ts';
import { checkedClient } from './responses-checked.ts';
import { sentItems } from './responses-sent.ts';

/** What each generation of Obsidian Copilot needs, on the real app-server. */

const { proxy, client: chat } = await openCheckedChat(hello);
const responses = checkedClient(proxy);
afterEach(() => responses.check());
afterAll(() => responses.close());

const COPILOT = { 'dangerously-allow-browser': 'true' };
const XML = { 'x-proxy-output-mode': 'obsidian-xml' };
const SEARCH = {
  name: 'localSearch',
  description: 'Looks for notes.',
  parameters: { type: 'object', properties: { query: { type: 'string' }, salientTerms: { type: 'array' } } },
};
const TOOLS = [{ type: 'function' as const, ...SEARCH, strict: null }];
const CHAT_TOOLS = [{ type: 'function' as const, function: SEARCH }];
const ARGS = { query: 'tea & "milk"', salientTerms: ['tea'] };
const searches: Script = says([
  { text: 'Let me look.' },
  { call: { name: 'localSearch', arguments: ARGS, callId: 'call_1' } },
  { call: { name: 'localSearch', arguments: { query: '</query>' }, callId: 'call_2' } },
]);
const BLOCK = `<use_tool>
<name>localSearch</name>
<query>tea & "milk"</query>
<salientTerms>["tea"]</salientTerms>
</use_tool>`;

const streamed = async (
  body: object,
  headers: Record<string, string>,
): Promise<readonly Record<string, unknown>[]> => {
  await collect(
    await responses.openai.responses.create(
      {
        model: 'gpt-5.5',
        input: 'Hi',
        stream: true,
        ...body,
      } as OpenAI.Responses.ResponseCreateParamsStreaming,
      { headers },
    ),
  );
  return responses.lastEvents();
};
const answered = (body: object, headers: Record<string, string>): Promise<OpenAI.Responses.Response> =>
  responses.openai.responses.create(
    { model: 'gpt-5.5', input: 'Hi', ...body } as OpenAI.Responses.ResponseCreateParamsNonStreaming,
    { headers },
  );
const completed = (body: object, headers: Record<string, string>): Promise<OpenAI.Chat.ChatCompletion> =>
  chat.openai.chat.completions.create(
    { model: 'gpt-5.5', messages: [{ role: 'user', content: 'Hi' }], ...body },
    { headers },
  );
const chunked = async (body: object, headers: Record<string, string>) => {
  const stream = await chat.openai.chat.completions.create(
    { model: 'gpt-5.5', messages: [{ role: 'user', content: 'Hi' }], stream: true, ...body },
    { headers },
  );
  return (await collect(stream)).flatMap(({ choices }) => choices);
};
const metric = async (name: string): Promise<number> =>
  Number(
    new RegExp(`^${name.replaceAll(/[{}]/g, String.raw`\$&`)} (\\d+)`, 'm').exec(
      await (await proxy.get('/metrics')).text(),
    )?.[1] ?? 0,
  );

describe('tools, if both forms are requested', () => {
  it('are blocks in the first message of Responses, followed by calls', async () => {
    proxy.use(searches);
    const before = await metric('proxy_xml_calls_native_only_total{reason="value"}');
    const events = await streamed({ tools: TOOLS }, XML);
    const types = events.map(({ type }) => type);
    expect(types.lastIndexOf('response.output_text.done')).toBeLessThan(
      types.indexOf('response.function_call_arguments.delta'),
    );
    expect(
      events.flatMap((event) =>
        event['type'] === 'response.output_item.added' ? [event['output_index']] : [],
      ),
    ).toEqual([0, 1, 2]);
    const response = (events.at(-1) as { response: OpenAI.Responses.Response }).response;
    const json = await answered({ tools: TOOLS }, XML);
    for (const { output } of [response, json]) {
      expect(output).toMatchObject([
        {
          type: 'message',
          content: [{ type: 'output_text', text: `Let me look.\n${BLOCK}`, annotations: [] }],
        },
        { type: 'function_call', call_id: 'call_1', arguments: JSON.stringify(ARGS) },
        // The block format cannot represent this one.
        { type: 'function_call', call_id: 'call_2' },
      ]);
    }
    expect(readUseTools(json.output_text)).toEqual([{ name: 'localSearch', args: ARGS }]);
    expect(await metric('proxy_xml_calls_native_only_total{reason="value"}')).toBe(before + 2);
  });

  it('are blocks in the content of Chat, calls, and for the first one also the legacy form', async () => {
    proxy.use(searches);
    const { choices } = await completed({ tools: CHAT_TOOLS }, XML);
    expect(chat.lastHeader('x-proxy-output-mode')).toBe('obsidian-xml');
    const older = { name: 'localSearch', arguments: JSON.stringify(ARGS) };
    expect(choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: {
        content: `Let me look.\n${BLOCK}`,
        tool_calls: [{ id: 'call_1', function: older }, { id: 'call_2' }],
        function_call: older,
      },
    });
    const chunks = await chunked({ tools: CHAT_TOOLS }, XML);
    const joined = (texts: readonly (string | null | undefined)[]): string => texts.join('');
    expect(joined(chunks.map(({ delta }) => delta.content))).toBe(`Let me look.\n${BLOCK}`);
    // eslint-disable-next-line typescript/no-deprecated -- that it is the older form is the point
    expect(joined(chunks.map(({ delta }) => delta.function_call?.arguments))).toBe(older.arguments);
    const calls = chunks.flatMap(({ delta }) => delta.tool_calls ?? []);
    expect(joined(calls.filter(({ index }) => index === 0).map((call) => call.function?.arguments))).toBe(
      older.arguments,
    );
    expect(chunks.at(-1)?.finish_reason).toBe('tool_calls');
  });
});

describe('tools of the plugin’s newer versions', () => {
  it('are called natively, without blocks in the text', async () => {
    proxy.use(searches);
    const events = await streamed({ tools: TOOLS }, COPILOT);
    expect(JSON.stringify(events)).not.toContain('use_tool');
    const added = events.filter(({ type }) => type === 'response.output_item.added');
    expect(added).toMatchObject([
      { output_index: 0, item: { type: 'message' } },
      {
        output_index: 1,
        item: { type: 'function_call', name: 'localSearch', call_id: 'call_1', arguments: '' },
      },
      {
        output_index: 2,
        item: { type: 'function_call', name: 'localSearch', call_id: 'call_2', arguments: '' },
      },
    ]);
    expect(proxy.log.at(-1)).toMatchObject({
      client: { family: 'obsidian-copilot', tier: 'header', reasons: ['dangerously-allow-browser'] },
    });
    expect(
      await metric('proxy_client_requests_total{family="obsidian-copilot",tier="header"}'),
    ).toBeGreaterThan(0);
    const { choices } = await completed({ tools: CHAT_TOOLS }, COPILOT);
    expect(choices[0]?.message).toMatchObject({ content: 'Let me look.', tool_calls: [{}, {}] });
    expect(choices[0]?.message).not.toHaveProperty('function_call');
    expect(chat.lastHeader('x-proxy-output-mode')).toBeNull();
  });
});

describe('the plugin whose prompt asks for blocks', () => {
  const PROMPT = '# Autonomous Agent Mode\nCall tools with <use_tool> blocks.';
  const TEXT = `Sure. <use_tool>\n<name>readNote</name>\n<notePath>a <b> & c</notePath>\n</use_tool>\n <use_tool><name>getFileTree</name>`;
  const writes = says([{ text: TEXT, chunkSize: 3 }]);
  const conversation = [
    { role: 'assistant' as const, content: PROMPT },
    { role: 'user' as const, content: 'Hi' },
  ];
  const input = conversation.map((message) => ({ type: 'message' as const, ...message }));

  it('keeps its prompt, and gets the text as the model wrote it', async () => {
    proxy.use(writes);
    const sent = [
      { role: 'assistant', content: [{ text: PROMPT }] },
      { role: 'user', content: [{ text: 'Hi' }] },
    ];
    const { output } = await answered({ input }, {});
    expect(sentItems(proxy.model)).toMatchObject(sent);
    expect(output).toMatchObject([{ content: [{ text: TEXT }] }]);
    expect(proxy.log.at(-1)).toMatchObject({ client: { family: 'obsidian-copilot', tier: 'body' } });
    const events = await streamed({ input }, COPILOT);
    expect(events.at(-1)).toMatchObject({ response: { output: [{ content: [{ text: TEXT }] }] } });
    const { choices } = await completed({ messages: conversation }, COPILOT);
    expect(sentItems(proxy.model)).toMatchObject(sent);
    expect(choices).toMatchObject([{ finish_reason: 'stop', message: { content: TEXT } }]);
    expect(choices[0]?.message).not.toHaveProperty('tool_calls');
  });

  it('also gets calls if it requests them', async () => {
    proxy.use(writes);
    const calls = [
      { name: 'readNote', arguments: '{"notePath":"a <b> & c"}' },
      { name: 'getFileTree', arguments: '{}' },
    ];
    const { output } = await answered({ input }, XML);
    expect(output).toMatchObject([{ content: [{ text: TEXT }] }, ...calls]);
    const { choices } = await completed({ messages: conversation }, XML);
    expect(choices).toMatchObject([
      {
        finish_reason: 'tool_calls',
        message: {
          content: TEXT,
          tool_calls: calls.map((call) => ({ function: call })),
          function_call: calls[0],
        },
      },
    ]);
  });
});

describe('the text of an answer', () => {
  it('has a blank line between messages, in Responses for this client', async () => {
    proxy.use(commentaryThenFinal);
    const events = await streamed({}, COPILOT);
    const deltas = events.flatMap((event) =>
      event['type'] === 'response.output_text.delta' ? [event['delta']] : [],
    );
    expect(deltas.join('')).toBe('Let me have a look.\n\nHere it is.');
    const texts = async (headers: Record<string, string>) =>
      (await answered({}, headers)).output.map((item) => (item.type === 'message' ? item.content : []));
    expect(await texts(COPILOT)).toMatchObject([
      [{ text: 'Let me have a look.' }],
      [{ text: '\n\nHere it is.' }],
    ]);
    expect(await texts({})).toMatchObject([[{ text: 'Let me have a look.' }], [{ text: 'Here it is.' }]]);
    const { choices } = await completed({}, COPILOT);
    expect(choices[0]?.message.content).toBe('Let me have a look.\n\nHere it is.');
  });

  it('contains no reasoning', async () => {
    proxy.use(reasoningThenText);
    const reasoning = { reasoning: { summary: 'auto' } };
    const { output } = await answered(reasoning, COPILOT);
    expect(output).toMatchObject([{ type: 'reasoning' }, { content: [{ text: 'The answer is 42.' }] }]);
    const { choices } = await completed({}, COPILOT);
    expect(choices[0]?.message.content).toBe('The answer is 42.');
  });
});

describe('errors', () => {
  const post = (at: string, body: object): Promise<Response> =>
    proxy.post(at, { model: 'gpt-5.5', stream: true, ...body }, { headers: COPILOT });

  it('for an exhausted quota are not retried', async () => {
    proxy.use(usageLimit(90));
    for (const answer of [
      await post('/v1/responses', { input: 'Hi' }),
      await post('/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }),
    ]) {
      expect([
        answer.status,
        answer.headers.get('x-should-retry'),
        answer.headers.get('retry-after'),
      ]).toEqual([429, 'false', '90']);
      expect(await answer.json()).toMatchObject({
        error: { code: 'insufficient_quota', type: 'insufficient_quota' },
      });
    }
  });

  it('in the middle of a stream have a form that the client shows', async () => {
    proxy.use(
      says([{ text: 'Half', end: 'open' }, { fail: { code: 'server_error', message: 'An accident.' } }]),
    );
    const stream = await (await post('/v1/responses', { input: 'Hi' })).text();
    const events = eventsOf(await collect(readSse(stream)));
    expect(events.filter(({ type }) => type === 'error')).toMatchObject([
      { type: 'error', error: { message: expect.any(String) as string } },
    ]);
    const chunks = await (
      await post('/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] })
    ).text();
    expect(eventsOf(await collect(readSse(chunks))).at(-1)).toMatchObject({
      error: { message: expect.any(String) as string },
    });
  });
});
