import path from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import type { ScriptStep } from '../../src/demo/script-step.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { mcpFiles } from '../support/mcp/config-file.ts';
import { startHttpMcp } from '../support/mcp/http-server.ts';
import { livingProcesses, stdioEntry } from '../support/mcp/stdio-server.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello, inTurn, says } from '../support/scripts.ts';
import { until } from '../support/until.ts';

const files = mcpFiles();
const journal = path.join(files.directory, 'journal');
const web = await startHttpMcp();
afterAll(() => web.close());
const proxy = await openProxy(hello, {
  PROXY_MCP_CONFIG: files.write({
    web: { url: web.url, require_approval: 'never' },
    local: { ...stdioEntry({ journal }), require_approval: 'never' },
    silent: { ...stdioEntry({ journal, mood: 'silent' }), startup_timeout_sec: 2 },
  }),
});

const WEB = { type: 'mcp', server_label: 'web' } as const;
const ask = (more: JsonObject) =>
  proxy.openai.responses.create(
    { model: 'gpt-5.5', input: 'How much is it?', tools: [WEB], ...more },
    { headers: { 'x-proxy-output-layout': 'natural' } },
  );
const calls = (name: string, given: object, callId: string, namespace = 'mcp__web'): ScriptStep => ({
  call: { name, namespace, arguments: JSON.stringify(given), callId },
});
const approvalRequest = (given: string): JsonObject => ({
  type: 'mcp_approval_request',
  id: 'mcpr_0',
  server_label: 'web',
  name: 'add',
  arguments: given,
});
const approval = (approve: boolean): JsonObject => ({
  type: 'mcp_approval_response',
  approval_request_id: 'mcpr_0',
  approve,
});
const bodies = (count: number) => proxy.model.requests.slice(-count).map(({ body }) => body);

describe('a turn with an MCP server', () => {
  it('restores items that codex drops when it calls the model again', async () => {
    const search = {
      id: 'fs_1',
      type: 'file_search_call',
      status: 'completed',
      queries: ['q'],
      results: null,
    };
    proxy.use(
      inTurn(
        says([{ text: 'One moment.' }, { item: search }, calls('add', { a: 1, b: 1 }, 'call_1')]),
        says([{ item: { ...search, id: 'fs_2' } }, calls('add', { a: 2, b: 2 }, 'call_2')]),
        hello,
      ),
    );
    await ask({ tools: [WEB, { type: 'file_search', vector_store_ids: ['vs_1'] }] });
    const input = bodies(1)[0]?.['input'] as JsonObject[];
    expect(
      input.map(({ type, id, output }) => (type === 'file_search_call' ? id : (output ?? type))),
    ).toEqual(['message', 'message', 'fs_1', 'function_call', '2', 'fs_2', 'function_call', '4']);
  });

  it('can be steered: the model keeps what its tools have answered', async () => {
    proxy.use(
      inTurn(
        says([calls('add', { a: 1, b: 1 }, 'call_1')]),
        says([{ text: 'It is', end: 'open' }, { hang: true }]),
        hello,
      ),
    );
    const stream = proxy.openai.responses.stream({ model: 'gpt-5.5', input: 'How much?', tools: [WEB] });
    let id = '';
    stream.on('response.created', ({ response }) => ({ id } = response));
    stream.on('response.output_text.delta', ({ snapshot }) => {
      if (snapshot === 'It is') void proxy.post(`/v1/responses/${id}/steer`, { input: 'In French.' });
    });
    const { output, usage } = await stream.finalResponse();
    expect(output.map((item) => [item.type, 'status' in item ? item.status : null])).toEqual([
      ['mcp_list_tools', null],
      ['mcp_call', 'completed'],
      ['message', 'incomplete'],
      ['message', 'completed'],
    ]);
    const input = bodies(1)[0]?.['input'] as JsonObject[];
    expect(input.map(({ type, role, output: given }) => given ?? role ?? type)).toEqual([
      'user',
      'function_call',
      '2',
      'user',
    ]);
    // Two model requests were interrupted with the part, and one has reported 18 tokens.
    expect(usage?.total_tokens).toBeGreaterThan(18 + 2 * 8);
  });

  it('runs a call that has no id and has an object as arguments', async () => {
    const item = { type: 'function_call', name: 'add', namespace: 'mcp__web', arguments: { a: 1, b: 2 } };
    proxy.use(inTurn(says([{ item }]), hello));
    const { output } = await ask({});
    expect(output.find(({ type }) => type === 'mcp_call')).toMatchObject({
      status: 'completed',
      arguments: '{"a":1,"b":2}',
      output: '3',
    });
    expect(bodies(1)[0]?.['input']).toMatchObject([
      { role: 'user' },
      { type: 'function_call', call_id: expect.stringMatching(/^call_/), arguments: '{"a":1,"b":2}' },
      { type: 'function_call_output', call_id: expect.stringMatching(/^call_/), output: '3' },
    ]);
  });

  it('makes at most the allowed number of calls', async () => {
    proxy.use(inTurn(says([calls('add', { a: 1, b: 1 }, 'call_1')]), hello));
    await ask({ max_tool_calls: 1 });
    expect(bodies(2).map(({ tools }) => ((tools ?? []) as unknown[]).length)).toEqual([1, 0]);
  });

  it('respects the tool choice', async () => {
    proxy.use(inTurn(says([calls('add', { a: 1, b: 1 }, 'call_1')]), hello));
    await ask({ tool_choice: { type: 'mcp', server_label: 'web', name: 'add' } });
    expect(bodies(2).map((body) => body['tool_choice'])).toEqual([
      { type: 'function', name: 'add', namespace: 'mcp__web' },
      'auto',
    ]);
    await until(() => web.sessions() === 0);
    const before = web.messages.length;
    await ask({ tool_choice: 'none' });
    expect([web.sessions(), web.messages.slice(before)]).toEqual([0, []]);
  });

  it('omits missing fields from the tool list', async () => {
    proxy.use(hello);
    const { output } = await ask({ tools: [{ ...WEB, allowed_tools: ['note', 'erase'] }] });
    const [list] = output;
    const tools = list?.type === 'mcp_list_tools' ? list.tools : [];
    expect(tools[0]).toEqual({
      name: 'erase',
      title: 'Erase it',
      description: 'Says that it destroys something.',
      input_schema: { type: 'object', properties: {}, required: [] },
      output_schema: { type: 'object', properties: { erased: { type: 'boolean' } } },
      annotations: { readOnlyHint: false, destructiveHint: true },
    });
    expect(Object.keys(tools[1] ?? {})).toEqual(['name', 'description', 'input_schema']);
  });

  it('names tool fields without effect', async () => {
    proxy.use(hello);
    const tools = [{ ...WEB, server_description: 'd', headers: { a: 'b' } }] as never;
    const { response } = await proxy.openai.responses
      .create({ model: 'gpt-5.5', input: 'hi', tools })
      .withResponse();
    expect(response.headers.get('x-proxy-ignored-params')).toBe(
      'tools[0].server_description, tools[0].headers',
    );
  });

  it.each([
    [
      { tool_choice: { type: 'mcp', server_label: 'web', name: 'nothing' } },
      "400 Invalid 'tool_choice': the MCP server does not have this tool",
    ],
    [{ tools: [WEB, WEB] }, "Invalid 'tools[1]': the label 'web' is already used for another server"],
    [{ tools: [{ ...WEB, allowed_tools: 5 }] }, "Invalid 'tools[0]': its 'allowed_tools' must be an array"],
    [{ tools: [{ ...WEB, require_approval: 'maybe' }] }, "its 'require_approval' must be 'always', 'never'"],
    [
      { tools: [WEB, { type: 'namespace', name: 'mcp__web', tools: [] }] },
      'this name is already used for the tools of an MCP server',
    ],
    [
      {
        tools: [],
        input: [
          { type: 'mcp_approval_request', id: 'mcpr_0', server_label: 'web', name: 'add', arguments: '{}' },
          { type: 'mcp_approval_response', approval_request_id: 'mcpr_0', approve: true },
        ],
      },
      "Invalid 'input[1]': a call of the MCP server 'web' was approved, but that server is not among the tools",
    ],
    [
      { input: [approvalRequest('{"a":1,"b":1}'), approvalRequest('{"a":2,"b":2}'), approval(true)] },
      "Invalid 'input[2]': the approval request 'mcpr_0' is in the input more than once, with different calls.",
    ],
  ])('is rejected for %j', async (more, message) => {
    await expect(ask(more as JsonObject)).rejects.toThrow(message);
  });

  it('runs an approved call once, even if the answer is retried', async () => {
    // Arguments that violate the schema: the model is asked to repair them.
    proxy.use(says([{ call: { name: 'look', arguments: { at: 7 } } }]));
    const look = {
      type: 'function',
      name: 'look',
      strict: true,
      parameters: {
        type: 'object',
        properties: { at: { type: 'string' } },
        required: ['at'],
        additionalProperties: false,
      },
    };
    const costOf = async (input: JsonObject[]) => {
      const before = { web: web.messages.length, model: proxy.model.requests.length };
      await ask({ tools: [WEB, look], input });
      await until(() => web.sessions() === 0);
      const run = web.messages.slice(before.web).filter((method) => method === 'tools/call');
      return { attempts: proxy.model.requests.length - before.model, calls: run.length };
    };
    const asked = approvalRequest('{"a":1,"b":1}');
    const declined = await costOf([asked, approval(false), approval(true)]);
    expect([declined.attempts > 1, declined.calls]).toEqual([true, 0]);
    expect(await costOf([asked, approval(true)])).toEqual({ ...declined, calls: 1 });
  });

  it('runs an approved call of a stored response once, also when the chain goes on', async () => {
    const tools = [{ ...WEB, require_approval: 'always' }];
    proxy.use(inTurn(says([calls('add', { a: 2, b: 3 }, 'call_1')]), hello, hello));
    const first = await ask({ tools });
    const approved = { ...approval(true), approval_request_id: first.output.at(-1)?.id ?? '' };
    const second = await ask({ tools, input: [approved], previous_response_id: first.id });
    expect(second.output).toMatchObject([{ type: 'mcp_call', output: '5' }, { type: 'message' }]);
    const third = await ask({ tools, previous_response_id: second.id });
    expect(third.output).toMatchObject([{ type: 'message' }]);
  });

  it('does not delay other requests while a server starts slowly', async () => {
    proxy.use(hello);
    const order: string[] = [];
    const slow = ask({ tools: [{ type: 'mcp', server_label: 'silent' }] }).catch((error: Error) => {
      order.push(error.message);
    });
    await until(() => livingProcesses(journal).length > 0);
    await ask({ tools: [] });
    await ask({});
    order.push('others');
    await slow;
    expect(order).toEqual(['others', "424 The MCP server 'silent' did not answer within 2 s."]);
  });

  it('ends with its worker, and reports it in the call', async () => {
    proxy.use(says([calls('slow', { ms: 1_000 }, 'call_1', 'mcp__local')]));
    const before = proxy.model.requests.length;
    const stream = await proxy.openai.responses.create({
      model: 'gpt-5.5',
      input: 'How much is it?',
      tools: [{ type: 'mcp', server_label: 'local' }],
      stream: true,
    });
    const seen: { type: string; item?: { type: string; status?: string } }[] = [];
    const reading = (async () => {
      for await (const event of stream) seen.push(event as never);
    })().catch(() => {});
    await until(
      () => proxy.model.requests.length > before && seen.some(({ type }) => type.endsWith('arguments.delta')),
    );
    process.kill(proxy.app.workers()[0]?.pid ?? 0, 'SIGKILL');
    await reading;
    const done = seen.findLast(({ type }) => type === 'response.output_item.done');
    expect(done?.item).toMatchObject({ type: 'mcp_call', status: 'failed' });
    await until(() => livingProcesses(journal).length === 0);
  });
});
