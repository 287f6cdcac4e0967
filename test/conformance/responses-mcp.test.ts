import path from 'node:path';

import type { ResponseInputItem, Tool } from 'openai/resources/responses/responses';
import { afterAll, describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import type { ScriptStep } from '../../src/demo/script-step.ts';
import { mcpFiles } from '../support/mcp/config-file.ts';
import { startHttpMcp } from '../support/mcp/http-server.ts';
import { livingProcesses, stdioEntry } from '../support/mcp/stdio-server.ts';
import { hello, inTurn, says } from '../support/scripts.ts';
import { until } from '../support/until.ts';
import { openChecked } from './responses-checked.ts';
import { sentItems } from './responses-sent.ts';

const files = mcpFiles();
const journal = path.join(files.directory, 'journal');
const web = await startHttpMcp();
afterAll(() => web.close());

const { proxy, client } = await openChecked(hello, {
  PROXY_MCP_CONFIG: files.write({
    local: stdioEntry({ journal }),
    'the-web': { url: web.url, tool_timeout_sec: 1 },
    dies: stdioEntry({ journal, mood: 'dies' }),
    slow: { ...stdioEntry({ journal, mood: 'silent' }), startup_timeout_sec: 1 },
  }),
});
afterAll(() => until(() => livingProcesses(journal).length === 0));

const mcp = (server_label: string, more: Partial<Tool.Mcp> = {}): Tool.Mcp => ({
  type: 'mcp',
  server_label,
  require_approval: 'never',
  ...more,
});
const calls = (name: string, given: object, callId = 'call_1', namespace = 'mcp__the_web'): ScriptStep => ({
  call: { name, namespace, arguments: JSON.stringify(given), callId },
});
const QUESTION = { role: 'user', content: 'How much is it?' } as const;
const ask = (tools: Tool[], input: ResponseInputItem[] = [QUESTION]) =>
  client.openai.responses.create({ model: 'gpt-5.5', input, tools });
const usage = {
  inputTokens: 10,
  cachedInputTokens: 1,
  cacheWriteInputTokens: 0,
  outputTokens: 5,
  reasoningTokens: 0,
  totalTokens: 15,
};

/** A model that makes these calls, then says that it is done. */
const thenDone = (...steps: readonly ScriptStep[]): Script =>
  inTurn(says(steps, { usage }), says([{ text: 'Done.' }], { usage }));

const ADDED = {
  id: 'mcp_call_1',
  type: 'mcp_call',
  status: 'completed',
  approval_request_id: null,
  name: 'add',
  arguments: '{"a":2,"b":3}',
  output: '5',
  error: null,
};

describe('a tool of an MCP server', () => {
  it.each(['the-web', 'local'])(
    'of %s is run, shown with its result, and the model goes on',
    async (label) => {
      proxy.use(thenDone(calls('add', { a: 2, b: 3 }, 'call_1', `mcp__${label.replaceAll('-', '_')}`)));
      const before = proxy.model.requests.length;
      const answer = await ask([mcp(label)]);
      expect(answer.output).toMatchObject([
        { type: 'mcp_list_tools', server_label: label },
        { ...ADDED, server_label: label },
        { type: 'message', content: [{ text: 'Done.' }] },
      ]);
      expect(answer.usage).toMatchObject({ input_tokens: 20, output_tokens: 10, total_tokens: 30 });
      expect(proxy.model.requests.length - before).toBe(2);
      const namespace = `mcp__${label.replaceAll('-', '_')}`;
      expect(sentItems(proxy.model)).toEqual([
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'How much is it?' }] },
        expect.objectContaining({
          type: 'function_call',
          namespace,
          name: 'add',
          arguments: '{"a":2,"b":3}',
        }),
        expect.objectContaining({ type: 'function_call_output', call_id: 'call_1', output: '5' }),
      ]);
    },
  );

  it('is streamed: the list, the call with its arguments, its end, then the text', async () => {
    proxy.use(thenDone(calls('add', { a: 2, b: 3 })));
    const stream = client.openai.responses.stream({
      model: 'gpt-5.5',
      input: [QUESTION],
      tools: [mcp('the-web')],
    });
    const final = await stream.finalResponse();
    const events = await client.lastEvents();
    const of = (index: number) =>
      events.filter((event) => event['output_index'] === index).map((event) => event['type']);
    expect(of(0)).toEqual([
      'response.output_item.added',
      'response.mcp_list_tools.in_progress',
      'response.mcp_list_tools.completed',
      'response.output_item.done',
    ]);
    const deltas = events.filter((event) => event['type'] === 'response.mcp_call_arguments.delta');
    expect(deltas.map((event) => event['delta']).join('')).toBe('{"a":2,"b":3}');
    expect(of(1).filter((type) => type !== 'response.mcp_call_arguments.delta')).toEqual([
      'response.output_item.added',
      'response.mcp_call.in_progress',
      'response.mcp_call_arguments.done',
      'response.mcp_call.completed',
      'response.output_item.done',
    ]);
    expect(final.output[1]).toEqual({ ...ADDED, server_label: 'the-web' });
    expect(final.output_text).toBe('Done.');
  });

  it("is offered with its server's schema, and without the tools that codex adds", async () => {
    proxy.use(hello);
    await ask([mcp('the-web')]);
    const tools = proxy.model.requests.at(-1)?.body['tools'] as { name: string; tools: { name: string }[] }[];
    expect(tools.map(({ name }) => name)).toEqual(['mcp__the_web']);
    expect(tools[0]?.tools.find(({ name }) => name === 'add')).toMatchObject({
      parameters: { properties: { a: { type: 'number', maximum: 1000 } } },
    });
  });

  it('reports its failure in the call, and the model continues', async () => {
    proxy.use(thenDone(calls('fail', {}), calls('slow', { ms: 60_000 }, 'call_2')));
    const { output, output_text } = await ask([mcp('the-web')]);
    expect(output_text).toBe('Done.');
    expect(output.slice(1, 3)).toMatchObject([
      {
        name: 'fail',
        status: 'failed',
        output: null,
        error: { type: 'mcp_tool_execution_error', content: [{ type: 'text', text: 'it did not work' }] },
      },
      {
        name: 'slow',
        status: 'failed',
        output: null,
        error: { type: 'mcp_protocol_error', message: expect.stringMatching(/timed out/) },
      },
    ]);
  });

  it('keeps its own name, although codex writes it differently', async () => {
    proxy.use((request, connection) => {
      const [space] = request.body['tools'] as { tools: { name: string; description: string }[] }[];
      const name = space?.tools.find(({ description }) => description === 'With a dot.')?.name ?? '';
      const isFirst = !JSON.stringify(request.body['input']).includes('function_call_output');
      return says(isFirst ? [calls(name, {})] : [{ text: 'Done.' }])(request, connection);
    });
    const { output } = await ask([mcp('the-web')]);
    expect(output[1]).toMatchObject({ type: 'mcp_call', name: 'do.it', output: 'dot' });
  });

  it('is neither offered nor run if it is not allowed', async () => {
    proxy.use(thenDone(calls('note', { line: 'x' })));
    const { output } = await ask([mcp('the-web', { allowed_tools: ['add'] })]);
    expect(output).toMatchObject([
      { type: 'mcp_list_tools', tools: [{ name: 'add' }] },
      { type: 'message', content: [{ text: 'Done.' }] },
    ]);
  });

  it('returns an image that the model sees, now and in later requests', async () => {
    proxy.use(thenDone(calls('picture', {})));
    const first = await ask([mcp('the-web')]);
    const image = { type: 'input_image', image_url: expect.stringMatching(/^data:image\/png;base64,/) };
    const shown = [{ type: 'input_text', text: 'here it is' }, expect.objectContaining(image)];
    expect(sentItems(proxy.model).at(-1)).toMatchObject({ output: shown });
    proxy.use(hello);
    await ask([mcp('the-web')], [QUESTION, ...(first.output as ResponseInputItem[]), QUESTION]);
    expect(sentItems(proxy.model)[2]).toMatchObject({ type: 'function_call_output', output: shown });
  });
});

const WEATHER: Tool = {
  type: 'function',
  name: 'get_weather',
  strict: false,
  parameters: { type: 'object', properties: {} },
};

describe('calls of both kinds in one answer', () => {
  it.each(['the-web', 'local'])('are run at %s and end the turn there', async (label) => {
    const namespace = `mcp__${label.replaceAll('-', '_')}`;
    proxy.use(
      says([
        calls('slow', { ms: 300 }, 'call_1', namespace),
        { call: { name: 'get_weather', arguments: {}, callId: 'call_client' } },
      ]),
    );
    const before = proxy.model.requests.length;
    const { output, status } = await ask([mcp(label), WEATHER]);
    expect({ status, requests: proxy.model.requests.length - before }).toEqual({
      status: 'completed',
      requests: 1,
    });
    expect(output.slice(1)).toMatchObject([
      { type: 'mcp_call', name: 'slow', status: 'completed', output: 'at last' },
      { type: 'function_call', name: 'get_weather', call_id: 'call_client' },
    ]);
    proxy.use(hello);
    const rain = { type: 'function_call_output', call_id: 'call_client', output: 'rain' } as const;
    await ask([mcp(label), WEATHER], [QUESTION, ...(output as ResponseInputItem[]), rain]);
    expect(sentItems(proxy.model).slice(1)).toEqual([
      { type: 'function_call', call_id: 'call_1', namespace, name: 'slow', arguments: '{"ms":300}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'at last' },
      { type: 'function_call', call_id: 'call_client', name: 'get_weather', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_client', output: 'rain' },
    ]);
  });
});

describe('a server that is not available', () => {
  it.each([
    ['dies', /^424 The MCP server 'dies' ended before it answered\.$/],
    ['slow', /^424 The MCP server 'slow' did not answer within 1 s\.$/],
  ])('is named: %s', async (label, message) => {
    const before = proxy.model.requests.length;
    await expect(ask([mcp(label)])).rejects.toThrow(message);
    expect(proxy.model.requests.length).toBe(before);
  });

  it('is rejected if it is unknown or declared by the client', async () => {
    await expect(ask([mcp('unknown')])).rejects.toThrow(
      /there is no MCP server 'unknown'.*'local', 'the-web', 'dies', 'slow'/,
    );
  });
});

describe('approval', () => {
  it('is requested, and an approved call is run first', async () => {
    const tools = [mcp('the-web', { require_approval: 'always' })];
    proxy.use(says([calls('add', { a: 2, b: 3 })]));
    const before = proxy.model.requests.length;
    const first = await ask(tools);
    expect(first.output.slice(1)).toEqual([
      {
        id: 'mcpr_call_1',
        type: 'mcp_approval_request',
        server_label: 'the-web',
        name: 'add',
        arguments: '{"a":2,"b":3}',
      },
    ]);
    expect(proxy.model.requests.length - before).toBe(1);
    const history = [QUESTION, ...(first.output as ResponseInputItem[])];
    const respond = async (approve: boolean) => {
      proxy.use(hello);
      const response = {
        type: 'mcp_approval_response',
        approval_request_id: 'mcpr_call_1',
        approve,
      } as const;
      return ask(tools, [...history, response]);
    };
    const second = await respond(true);
    expect(second.output[0]).toEqual({
      ...ADDED,
      server_label: 'the-web',
      approval_request_id: 'mcpr_call_1',
    });
    const called = {
      type: 'function_call',
      call_id: 'call_1',
      namespace: 'mcp__the_web',
      name: 'add',
      arguments: '{"a":2,"b":3}',
    };
    const gave = (output: string) => ({ type: 'function_call_output', call_id: 'call_1', output });
    expect(sentItems(proxy.model).slice(1)).toEqual([called, gave('5')]);
    const third = await respond(false);
    expect(third.output).toMatchObject([{ type: 'message' }]);
    expect(sentItems(proxy.model).slice(1)).toEqual([called, gave('This call was declined.')]);
    // A call is not run twice.
    proxy.use(hello);
    const response = {
      type: 'mcp_approval_response',
      approval_request_id: 'mcpr_call_1',
      approve: true,
    } as const;
    const again = [...history, response, ...(second.output as ResponseInputItem[]), QUESTION];
    const fourth = await ask(tools, again);
    expect(fourth.output).toMatchObject([{ type: 'message' }]);
    expect(sentItems(proxy.model).slice(1, 3)).toEqual([called, gave('5')]);
  });

  it('is not needed for named tools', async () => {
    proxy.use(inTurn(says([calls('note', { line: 'x' }), calls('erase', {}, 'call_2')]), hello));
    const { output } = await ask([mcp('the-web', { require_approval: { never: { tool_names: ['note'] } } })]);
    const { tools } = output[0] as { tools: { name: string }[] };
    // It has no annotations, and clients may not accept null.
    expect(tools.find(({ name }) => name === 'note')).toEqual({
      name: 'note',
      description: 'Has no annotations.',
      input_schema: { type: 'object', properties: { line: { type: 'string' } }, required: ['line'] },
    });
    expect(output.slice(1)).toMatchObject([
      { type: 'mcp_call', name: 'note', output: 'noted: x' },
      { type: 'mcp_approval_request', name: 'erase' },
    ]);
  });
});
