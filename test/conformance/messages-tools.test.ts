import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it, onTestFinished } from 'vitest';

import { itemsOf } from '../clients/rounds.ts';
import { freshProxies, openProxy } from '../support/open-proxy.ts';
import type { TestProxy } from '../support/proxy.ts';
import { http400, inTurn, says } from '../support/scripts.ts';
import { sentBody, sentItems } from './responses-sent.ts';

/** Tools of the Messages API, with the real app-server. */

type Ask = Anthropic.Beta.MessageCreateParamsNonStreaming;
type Message = Anthropic.Beta.BetaMessageParam;

const OTHER_KEY = 'sk-other-key-0123456789';
const KEYS = `sk-test-key-0123456789,${OTHER_KEY}`;
const done = says([{ text: 'Done.' }]);
const proxy = await openProxy(done, { PROXY_API_KEY: KEYS });
const fresh = freshProxies();

const clientOf = ({ url, key }: Pick<TestProxy, 'url' | 'key'>, apiKey = key): Anthropic =>
  new Anthropic({ baseURL: url, apiKey, maxRetries: 0 });
const anthropic = clientOf(proxy);

const SCHEMA = { type: 'object' as const, properties: {} };
const tool = (name: string, more: object = {}) => ({ name, input_schema: SCHEMA, ...more });
const USER: Message = { role: 'user', content: 'Edit it.' };
const ASK: Ask = { model: 'gpt-5.5', max_tokens: 1_000, messages: [USER], tools: [tool('Edit')] };
const resultOf = (id: string, content: Anthropic.Beta.BetaToolResultBlockParam['content']): Message => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: id, ...(content === undefined ? {} : { content }) }],
});

describe('the arguments of a call', () => {
  const OWN = '{ "path": "a.ts",  "n": 1.0 }';
  let calls = 0;

  /** A round with a call, and the next request, whose client sends the arguments as `input`. */
  const round = async (on: TestProxy): Promise<(input: object, client?: Anthropic) => Promise<unknown>> => {
    calls += 1;
    const callId = `call_Ab3dEf6hIj9lMn2pQr5t${calls}`;
    on.use(inTurn(says([{ call: { name: 'Edit', arguments: OWN, callId } }]), done));
    const { content } = await clientOf(on).beta.messages.create(ASK);
    expect(content).toMatchObject([
      { type: 'tool_use', id: callId, name: 'Edit', input: { path: 'a.ts', n: 1 } },
    ]);
    return async (input, client = clientOf(on)) => {
      const used: Message = {
        role: 'assistant',
        content: [{ type: 'tool_use', id: callId, name: 'Edit', input }],
      };
      await client.beta.messages.create({ ...ASK, messages: [USER, used, resultOf(callId, 'ok')] });
      return null;
    };
  };
  const argumentsSent = ({ model }: Pick<TestProxy, 'model'>): unknown =>
    sentItems(model).find(({ type }) => type === 'function_call')?.['arguments'];

  it('are those that the model wrote, if the client only added defaults', async () => {
    const send = await round(proxy);
    await send({ n: 1, all: false, path: 'a.ts' });
    expect(argumentsSent(proxy)).toBe(OWN);
    const changed = { n: 2, path: 'a.ts' };
    await send(changed);
    expect(argumentsSent(proxy)).toBe(JSON.stringify(changed));
    const same = { path: 'a.ts', n: 1 };
    await send(same, clientOf(proxy, OTHER_KEY));
    expect(argumentsSent(proxy)).toBe(JSON.stringify(same));
  });

  it.each(['on', 'off'])('are known after a restart if there is a store: %s', async (store) => {
    const PROXY_STATE_DIR = await mkdtemp(path.join(tmpdir(), 'arguments-'));
    onTestFinished(() => rm(PROXY_STATE_DIR, { recursive: true, force: true }));
    // The memory belongs to one backend, so both servers have the same one.
    const first = await fresh(done, { PROXY_STATE_DIR, PROXY_STORE: store });
    const env = { PROXY_STATE_DIR, PROXY_STORE: store, PROXY_UPSTREAM_BASE_URL: first.model.baseUrl };
    const send = await round(first);
    const sent = { n: 1, all: false, path: 'a.ts' };
    await send(sent);
    expect(argumentsSent(first)).toBe(OWN);
    await first.app.stop(5_000);
    await send(sent, clientOf(await fresh(done, env)));
    expect(argumentsSent(first)).toBe(store === 'on' ? OWN : JSON.stringify(sent));
  });
});

describe('tools that load late', () => {
  const late = (name: string) => tool(name, { defer_loading: true });
  const search: Message = {
    role: 'assistant',
    content: [{ type: 'tool_use', id: 'call_search', name: 'ToolSearch', input: {} }],
  };
  const found = resultOf('call_search', [{ type: 'tool_reference', tool_name: 'Late' }]);
  const before = { ...ASK, tools: [late('DeferredToolPlaceholder'), tool('Read'), tool('ToolSearch')] };
  const after = {
    ...ASK,
    messages: [USER, search, found],
    tools: [late('Late'), late('Other'), tool('Read'), tool('ToolSearch')],
  };
  const functions = (...names: readonly string[]) =>
    names.map((name) => ({ type: 'function', name, parameters: SCHEMA, strict: false }));

  const requests = async (on: TestProxy) => {
    on.use(done);
    await clientOf(on).beta.messages.create(before);
    const first = { tools: sentBody(on.model)['tools'], items: sentItems(on.model) };
    await clientOf(on).beta.messages.create(after);
    return [first, { tools: sentBody(on.model)['tools'], items: sentItems(on.model) }] as const;
  };

  it('are at the end of the list, for a backend that may not know them anywhere else', async () => {
    const [first, second] = await requests(proxy);
    expect(first.tools).toEqual(functions('Read', 'ToolSearch'));
    expect(second.tools).toEqual(functions('Read', 'ToolSearch', 'Late'));
    expect(second.items.slice(0, first.items.length)).toEqual(first.items);
    expect(second.items.at(-1)).toEqual({
      type: 'function_call_output',
      call_id: 'call_search',
      output: 'Loaded tools: Late',
    });
  });

  it('are at their place in the conversation, for a backend that takes them there', async () => {
    const taking = await fresh(done, { PROXY_UPSTREAM_PARAMS: 'additional_tools' });
    const [first, second] = await requests(taking);
    expect([first.tools, second.tools]).toEqual([functions('Read', 'ToolSearch'), first.tools]);
    expect(second.items.slice(0, first.items.length)).toEqual(first.items);
    expect(second.items.at(-1)).toEqual({
      type: 'additional_tools',
      role: 'developer',
      tools: functions('Late'),
    });
  });

  it('are in the list once a backend has rejected them there', async () => {
    const refusing = await fresh(done, { PROXY_UPSTREAM_PARAMS: 'additional_tools' });
    refusing.use((request, connection) => {
      const isLate = itemsOf(request.body).some(({ type }) => type === 'additional_tools');
      const answers = isLate ? http400("Invalid value: 'additional_tools'.", 'input[3]') : done;
      return answers(request, connection);
    });
    for (const asked of [2, 1]) {
      const earlier = refusing.model.requests.length;
      await clientOf(refusing).beta.messages.create(after);
      expect(refusing.model.requests.length - earlier).toBe(asked);
      expect(sentBody(refusing.model)['tools']).toEqual(functions('Read', 'ToolSearch', 'Late'));
    }
  });

  it('can be called', async () => {
    proxy.use(says([{ call: { name: 'Late', arguments: {}, callId: 'call_late' } }]));
    const { content, stop_reason } = await anthropic.beta.messages.create(after);
    expect([content, stop_reason]).toEqual([
      [{ type: 'tool_use', id: 'call_late', name: 'Late', input: {} }],
      'tool_use',
    ]);
  });
});

describe('tools and their choice', () => {
  it('reach the model', async () => {
    proxy.use(done);
    await anthropic.beta.messages.create({
      ...ASK,
      tools: [
        { ...tool('Edit'), description: 'Edits.', strict: false, cache_control: { type: 'ephemeral' } },
        { type: 'web_search_20250305', name: 'web_search', max_uses: 3, allowed_domains: ['example.com'] },
      ],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    });
    expect(sentBody(proxy.model)).toMatchObject({
      tools: [
        { type: 'function', name: 'Edit', description: 'Edits.', parameters: SCHEMA, strict: false },
        { type: 'web_search', filters: { allowed_domains: ['example.com'] } },
      ],
      tool_choice: 'auto',
      parallel_tool_calls: false,
      max_tool_calls: 3,
      include: expect.arrayContaining(['web_search_call.action.sources']) as unknown,
    });
  });

  it('have names of any length, in JSON and in streams', async () => {
    const long = `mcp__server__${'tool_'.repeat(20)}`;
    const ask = { ...ASK, tools: [tool(long)], tool_choice: { type: 'tool' as const, name: long } };
    proxy.use((request, connection) => {
      const [{ name = '' } = {}] = request.body['tools'] as readonly { readonly name?: string }[];
      return says([{ call: { name, arguments: {}, callId: 'call_long' } }])(request, connection);
    });
    const called = [{ type: 'tool_use', id: 'call_long', name: long, input: {} }];
    const { content } = await anthropic.beta.messages.create(ask);
    expect(content).toEqual(called);
    const streamed = await anthropic.beta.messages.stream(ask).finalMessage();
    expect(streamed.content).toMatchObject(called);
    const { tools, tool_choice: choice } = sentBody(proxy.model) as {
      readonly tools: readonly { readonly name: string }[];
      readonly tool_choice: object;
    };
    expect([tools[0]?.name.length, choice]).toEqual([64, { type: 'function', name: tools[0]?.name }]);
  });

  it('are rejected with their place', async () => {
    const refusals: readonly (readonly [object, string])[] = [
      [
        { tools: [tool('a'), { type: 'computer_toolset_20260801', name: 'computer' }] },
        "Unsupported tool: 'tools[1].type' is 'computer_toolset_20260801', which this server does not have: only Claude models know its input. Declare a tool with an input_schema instead.",
      ],
      [{ tools: [tool('a', { input_schema: { type: 'array' } })] }, 'tools[0].input_schema'],
      [{ tool_choice: { type: 'tool', name: 'b' } }, "Tool choice 'b' not found in 'tools' parameter."],
    ];
    for (const [more, message] of refusals) {
      const response = await proxy.post('/v1/messages', { ...ASK, ...more });
      const { error } = (await response.json()) as { readonly error: { readonly message: string } };
      expect([response.status, error.message]).toEqual([400, expect.stringContaining(message)]);
    }
  });
});

describe('a web search', () => {
  const search: Anthropic.Beta.BetaToolUnion = { type: 'web_search_20250305', name: 'web_search' };
  const action = { type: 'search', query: 'weather in Oslo', queries: ['weather in Oslo', 'Oslo'] };
  const opened = { type: 'open_page', url: 'https://example.com/oslo' };
  const page = { type: 'url', url: 'https://example.com/oslo' };
  const called = (id: string, more: object) => ({
    type: 'web_search_call',
    id,
    status: 'completed',
    action: more,
  });
  const item = (id: string, more: object) => ({ item: called(id, more) as never });
  const cited = { type: 'url_citation', start_index: 0, end_index: 4, url: page.url, title: 'Oslo' };
  const finds = says([
    item('ws_1', { ...action, sources: [page] }),
    item('ws_2', opened),
    { text: 'Snow.', annotations: [cited] },
  ]);

  it.each([false, true])(
    'is shown with what it found, and is read again (stream: %s)',
    async (isStreamed) => {
      proxy.use(finds);
      const ask = { ...ASK, tools: [search] };
      const { content } = isStreamed
        ? await anthropic.beta.messages.stream(ask).finalMessage()
        : await anthropic.beta.messages.create(ask);
      const { type: _, ...query } = action;
      const found = {
        type: 'web_search_result',
        url: page.url,
        encrypted_content: '',
        page_age: null,
      };
      expect(content).toMatchObject([
        { type: 'server_tool_use', id: 'srvtoolu_ws_1', name: 'web_search', input: query },
        { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_ws_1', content: [found] },
        { type: 'server_tool_use', id: 'srvtoolu_ws_2', name: 'web_search', input: opened },
        { type: 'text', text: 'Snow.', citations: [{ url: page.url, title: 'Oslo' }] },
        {
          type: 'web_search_tool_result',
          tool_use_id: 'srvtoolu_ws_2',
          content: [{ ...found, title: 'Oslo' }],
        },
      ]);
      proxy.use(done);
      await anthropic.beta.messages.create({
        ...ask,
        messages: [USER, { role: 'assistant', content }, USER],
      });
      expect(itemsOf(sentBody(proxy.model)).slice(1, -1)).toMatchObject([
        called('ws_1', action),
        called('ws_2', opened),
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Snow.' }] },
      ]);
    },
  );
});
