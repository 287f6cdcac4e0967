import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import type OpenAI from 'openai';
import type {
  Response as Answer,
  ResponseCreateParams,
  ResponseInputItem,
  ResponseOutputItem,
  Tool,
} from 'openai/resources/responses/responses';
import { afterAll, describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import type { ScriptStep } from '../../src/demo/script-step.ts';
import { openChecked } from '../conformance/responses-checked.ts';
import { objectsIn, sentBody, sentItems } from '../conformance/responses-sent.ts';
import { openSocket, responseOf } from '../support/client-socket.ts';
import { mcpFiles } from '../support/mcp/config-file.ts';
import { startHttpMcp } from '../support/mcp/http-server.ts';
import { startProxy } from '../support/proxy.ts';
import { hello, inTurn, says } from '../support/scripts.ts';
import { until } from '../support/until.ts';

/** The real app-server works in the workspaces, and a script is the model. */

const folder = async (name: string): Promise<string> =>
  realpath(await mkdtemp(path.join(tmpdir(), `workspace-${name}-`)));
const shop = await folder('shop');
const docs = await folder('docs');
const gone = await folder('gone');
afterAll(() => Promise.all([shop, docs, gone].map((one) => rm(one, { recursive: true, force: true }))));
await writeFile(path.join(docs, 'hello.txt'), 'hello\n');

const web = await startHttpMcp();
afterAll(() => web.close());
const files = mcpFiles();
const { proxy, client } = await openChecked(hello, {
  PROXY_MCP_CONFIG: files.write({
    adder: { url: web.url },
    shop: { workspace: shop, require_approval: 'never' },
    docs: { workspace: docs, access: 'read' },
    gone: { workspace: gone },
  }),
});

const QUESTION = { role: 'user', content: 'Fix it.' } as const;
const workspace = (server_label = 'shop', more: Partial<Tool.Mcp> = {}): Tool.Mcp => ({
  type: 'mcp',
  server_label,
  ...more,
});
type Asked = Partial<ResponseCreateParams>;
const askBy = ({ responses }: OpenAI, more: Asked): Promise<Answer> =>
  responses.create({ model: 'gpt-5.5', input: [QUESTION], tools: [workspace()], ...more, stream: false });
const ask = (more: Asked = {}): Promise<Answer> => askBy(client.openai, more);
/** For answers that the published schema does not allow. */
const askUnchecked = (more: Asked): Promise<Answer> => askBy(proxy.openai, more);

const usage = {
  inputTokens: 10,
  cachedInputTokens: 1,
  cacheWriteInputTokens: 0,
  outputTokens: 5,
  reasoningTokens: 0,
  totalTokens: 15,
};
const command = (cmd: string, callId = 'call_1'): ScriptStep => ({
  call: { name: 'exec_command', arguments: { cmd }, callId },
});
const patch = (text: string, callId = 'call_2'): ScriptStep => ({
  call: { name: 'apply_patch', tool: 'custom', arguments: text, callId },
});
const thenDone = (...steps: readonly ScriptStep[]): Script =>
  inTurn(says(steps, { usage }), says([{ text: 'Done.' }], { usage }));
const PATCH = '*** Begin Patch\n*** Add File: a.txt\n+"héllo"\n*** End Patch\n';

/** What the model was asked after the prompt of codex. */
const asked = () => {
  const items = sentItems(proxy.model);
  return items.slice(items.findIndex(({ content }) => JSON.stringify(content)?.includes('Fix it.')));
};
const called = (output: readonly ResponseOutputItem[]) =>
  output.filter((item) => item.type === 'mcp_call' || item.type === 'mcp_approval_request');
const outputOf = (answer: Answer): string => {
  const call = answer.output.find((item) => item.type === 'mcp_call');
  return call?.output ?? 'no call';
};

const approve = (id: string, more: object = {}): ResponseInputItem => ({
  type: 'mcp_approval_response',
  approval_request_id: id,
  approve: true,
  ...more,
});

describe('a workspace', () => {
  it('is worked in with the tools of codex, and shown as an MCP server', async () => {
    proxy.use(
      inTurn(
        says([{ text: 'I look.', phase: 'commentary' }, command('echo héllo > b.txt; cat b.txt; exit 7')], {
          usage,
        }),
        says([patch(PATCH)], { usage }),
        says([{ text: 'Done.' }], { usage }),
      ),
    );
    const answer = await ask();
    expect(answer).toMatchObject({ status: 'completed', output_text: expect.stringContaining('Done.') });
    expect(answer.output).toMatchObject([
      { type: 'mcp_list_tools', server_label: 'shop' },
      { type: 'message', phase: 'commentary' },
      {
        id: 'mcp_call_1',
        type: 'mcp_call',
        status: 'completed',
        server_label: 'shop',
        name: 'exec_command',
        arguments: '{"cmd":"echo héllo > b.txt; cat b.txt; exit 7"}',
        output: expect.stringMatching(/exited with code 7\n[^]*Output:\nhéllo\n/),
        error: null,
        approval_request_id: null,
      },
      {
        name: 'apply_patch',
        arguments: JSON.stringify({ patch: PATCH }),
        output: expect.stringContaining('A a.txt'),
      },
      { type: 'message', content: [{ text: 'Done.' }] },
    ]);
    const [list] = answer.output;
    expect(list?.type === 'mcp_list_tools' ? list.tools.map(({ name }) => name) : []).toEqual([
      'exec_command',
      'write_stdin',
      'apply_patch',
      'update_plan',
      'view_image',
    ]);
    expect(answer.usage).toMatchObject({ input_tokens: 30, output_tokens: 15, total_tokens: 45 });
    expect(await readFile(path.join(shop, 'a.txt'), 'utf8')).toBe('"héllo"\n');
  });

  it('is streamed: the arguments, live output, then the end of the call', async () => {
    proxy.use(thenDone(command('echo one; sleep 0.4; echo two')));
    const stream = client.openai.responses.stream({
      model: 'gpt-5.5',
      input: [QUESTION],
      tools: [workspace()],
    });
    const final = await stream.finalResponse();
    expect(final.output_text).toBe('Done.');
    const events = await client.lastEvents();
    const ofCall = events.filter((event) => event['output_index'] === 1);
    const isLive = (event: object): boolean => 'output_delta' in event;
    expect(
      ofCall
        .filter((event) => event['type'] !== 'response.mcp_call_arguments.delta' && !isLive(event))
        .map((event) => event['type']),
    ).toEqual([
      'response.output_item.added',
      'response.mcp_call.in_progress',
      'response.mcp_call_arguments.done',
      'response.mcp_call.completed',
      'response.output_item.done',
    ]);
    const deltas = ofCall.filter((event) => event['type'] === 'response.mcp_call_arguments.delta');
    expect(deltas.map((event) => event['delta']).join('')).toBe('{"cmd":"echo one; sleep 0.4; echo two"}');
    const live = ofCall.filter(isLive);
    // codex may lose the first of it.
    expect(live.map((event) => event['output_delta']).join('')).toMatch(/^(?:one\n)?two\n$/);
    for (const event of live)
      expect(event).toMatchObject({ type: 'response.mcp_call.in_progress', item_id: 'mcp_call_1' });
  });

  it('stays in the conversation as the model has seen it, with and without the workspace', async () => {
    proxy.use(inTurn(says([command('echo a')]), says([patch('no patch')]), says([{ text: 'Done.' }])));
    const answer = await ask();
    const seen = asked();
    expect(seen.map(({ type }) => type)).toEqual([
      'message',
      'function_call',
      'function_call_output',
      'custom_tool_call',
      'custom_tool_call_output',
    ]);
    const input = [
      QUESTION,
      ...(answer.output as ResponseInputItem[]),
      { role: 'user', content: 'More.' } as const,
    ];
    for (const more of [
      { input, tools: [workspace()] },
      { input, tools: [] },
      { input, tools: [workspace('docs', { require_approval: 'never' })] },
      { input: 'More.', previous_response_id: answer.id, tools: [] },
    ] satisfies Asked[]) {
      proxy.use(hello);
      const { output } = await ask(more);
      expect(asked().slice(0, seen.length)).toMatchObject(seen);
      expect(
        asked()
          .slice(seen.length)
          .map(({ type }) => type),
      ).toEqual(['message', 'message']);
      const lists = output.filter(({ type }) => type === 'mcp_list_tools');
      expect(lists.length).toBe(more.tools.some((tool) => tool.server_label === 'docs') ? 1 : 0);
    }
  });

  it('cannot be changed if it is for reading', async () => {
    proxy.use(thenDone(command('cat hello.txt; touch new.txt')));
    const answer = await ask({ tools: [workspace('docs', { require_approval: 'never' })] });
    expect(outputOf(answer)).toMatch(/hello\n[^]*Read-only/);
    const names = objectsIn(sentBody(proxy.model)['tools']).map(({ name }) => name);
    expect(names).toContain('exec_command');
    expect(names).not.toContain('apply_patch');
  });

  it('ends with a call of the client, after the others', async () => {
    const weather: Tool = { type: 'function', name: 'get_weather', strict: false, parameters: null };
    proxy.use(
      says([
        command('sleep 0.2; echo late'),
        { call: { name: 'get_weather', arguments: {}, callId: 'call_w' } },
      ]),
    );
    const answer = await ask({ tools: [workspace(), weather] });
    expect(answer.output.slice(1)).toMatchObject([
      { type: 'mcp_call', output: expect.stringContaining('late') },
      { type: 'function_call', call_id: 'call_w' },
    ]);
    proxy.use(hello);
    await ask({
      input: [{ type: 'function_call_output', call_id: 'call_w', output: 'rain' }],
      previous_response_id: answer.id,
      tools: [workspace(), weather],
    });
    expect(asked().map(({ type, call_id: id }) => [type, id])).toEqual([
      ['message', undefined],
      ['function_call', 'call_1'],
      ['function_call_output', 'call_1'],
      ['function_call', 'call_w'],
      ['function_call_output', 'call_w'],
    ]);
  });

  it('has the tools and as many calls as the request allows', async () => {
    proxy.use(inTurn(says([command('echo 1')]), says([command('echo 2', 'call_2')]), hello));
    const answer = await askUnchecked({
      tools: [workspace('shop', { allowed_tools: ['exec_command'] })],
      max_tool_calls: 1,
    });
    expect(objectsIn(sentBody(proxy.model)['tools']).map(({ name }) => name)).toEqual(['exec_command']);
    expect(answer).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_tool_calls' } });
    expect(called(answer.output)).toHaveLength(1);
  });
});

describe('a workspace with other tools', () => {
  it('is used together with an MCP server, whose calls the model sees in the same conversation', async () => {
    const adds: ScriptStep = {
      call: { name: 'add', namespace: 'mcp__adder', arguments: { a: 2, b: 3 }, callId: 'call_add' },
    };
    proxy.use(inTurn(says([adds]), says([command('echo a')]), hello));
    const adder: Tool.Mcp = { type: 'mcp', server_label: 'adder', require_approval: 'never' };
    const answer = await ask({ tools: [adder, workspace()] });
    const shown = answer.output.map((item) =>
      'server_label' in item ? [item.type, item.server_label] : item.type,
    );
    expect(shown).toEqual([
      ['mcp_list_tools', 'shop'],
      ['mcp_list_tools', 'adder'],
      ['mcp_call', 'adder'],
      ['mcp_call', 'shop'],
      'message',
    ]);
    const calls = [
      ['message', undefined],
      ['function_call', 'call_add'],
      ['function_call_output', 'call_add'],
      ['function_call', 'call_1'],
      ['function_call_output', 'call_1'],
    ];
    const seen = () => asked().map(({ type, call_id: id }) => [type, id]);
    expect(seen()).toEqual(calls);
    proxy.use(hello);
    await ask({ input: 'More.', previous_response_id: answer.id, tools: [adder, workspace()] });
    expect(seen().slice(0, calls.length)).toEqual(calls);
  });

  it('approves calls of an MCP server once, too', async () => {
    const adds: ScriptStep = {
      call: { name: 'add', namespace: 'mcp__adder', arguments: { a: 2, b: 3 }, callId: 'call_add' },
    };
    proxy.use(says([adds]));
    const tools: Tool[] = [{ type: 'mcp', server_label: 'adder', require_approval: 'always' }, workspace()];
    const first = await ask({ tools });
    expect(first.output.at(-1)).toMatchObject({ type: 'mcp_approval_request', server_label: 'adder' });
    proxy.use(inTurn(says([command('echo a')]), hello));
    const second = await ask({ previous_response_id: first.id, input: [approve('mcpr_call_add')], tools });
    expect(called(second.output)).toMatchObject([
      { server_label: 'adder', output: '5', approval_request_id: 'mcpr_call_add' },
      { server_label: 'shop' },
    ]);
  });

  it('shows the model images, now and in later requests', async () => {
    const pixel =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    await writeFile(path.join(shop, 'a.png'), Buffer.from(pixel, 'base64'));
    proxy.use(thenDone({ call: { name: 'view_image', arguments: { path: 'a.png' }, callId: 'call_1' } }));
    const answer = await ask();
    const image = { type: 'input_image', image_url: expect.stringMatching(/^data:image\/png;base64,/) };
    expect(asked().at(-1)).toMatchObject({
      output: expect.arrayContaining([expect.objectContaining(image)]),
    });
    const seen = asked();
    proxy.use(hello);
    await ask({ input: 'More.', previous_response_id: answer.id, tools: [] });
    expect(asked().slice(0, seen.length)).toEqual(seen);
  });
});

describe('a request for a workspace', () => {
  it.each<[string, readonly Tool[], string, RegExp]>([
    ['two workspaces', [workspace(), workspace('docs')], 'tools[1]', /only one workspace/],
    ['an unknown label', [workspace('shpo')], 'tools[0]', /configured are 'adder', 'shop', 'docs', 'gone'/],
    ['a wrong filter', [workspace('shop', { allowed_tools: ['bash'] })], 'tools[0]', /names 'bash'/],
  ])('is refused with %s', async (_, tools, param, message) => {
    const before = proxy.model.requests.length;
    await expect(ask({ tools: [...tools] })).rejects.toMatchObject({
      status: 400,
      code: 'invalid_value',
      param,
      message: expect.stringMatching(message),
    });
    expect(proxy.model.requests.length).toBe(before);
  });

  it('is a 424 if the folder is gone, and uses up no approval', async () => {
    proxy.use(says([command('echo a', 'call_g1Qd8f2kJ3mZ1xV7')]));
    const tools = [workspace('gone')];
    const first = await ask({ tools });
    await rm(gone, { recursive: true });
    const input = [approve('mcpr_call_g1Qd8f2kJ3mZ1xV7')];
    const again = () => ask({ previous_response_id: first.id, input, tools });
    await expect(again()).rejects.toMatchObject({
      status: 424,
      code: 'mcp_server_unavailable',
      message: expect.stringContaining("'gone'"),
    });
    await mkdir(gone);
    proxy.use(hello);
    expect(outputOf(await again())).toContain('Output:\na\n');
  });

  it('has an empty address, as from the AI SDK', async () => {
    proxy.use(hello);
    const { output } = await askUnchecked({ tools: [workspace('shop', { server_url: '' })] });
    expect(output[0]).toMatchObject({ type: 'mcp_list_tools', server_label: 'shop' });
  });
});

describe('approvals', () => {
  const tools = [workspace('shop', { require_approval: 'always' })];
  const askFor = async (...steps: readonly ScriptStep[]): Promise<Answer> => {
    proxy.use(says(steps));
    const answer = await ask({ tools });
    proxy.use(hello);
    return answer;
  };
  const statusOf = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => 200,
      (error: { readonly code?: unknown }) => error.code,
    );

  it('end the answer, and the next one runs the calls first', async () => {
    await rm(path.join(shop, 'a.txt'), { force: true });
    const id = 'call_a1Qd8f2kJ3mZ1xV7';
    const first = await askFor(command('echo yes', id), patch(PATCH, 'call_a2Qd8f2kJ3mZ1xV7'), {
      call: { name: 'update_plan', arguments: { plan: [] }, callId: 'call_a3Qd8f2kJ3mZ1xV7' },
    });
    expect(first.status).toBe('completed');
    expect(called(first.output)).toMatchObject([
      { type: 'mcp_call', name: 'update_plan' },
      {
        id: 'mcpr_call_a1Qd8f2kJ3mZ1xV7',
        type: 'mcp_approval_request',
        server_label: 'shop',
        name: 'exec_command',
        arguments: '{"cmd":"echo yes"}',
      },
      { id: 'mcpr_call_a2Qd8f2kJ3mZ1xV7', name: 'apply_patch', arguments: JSON.stringify({ patch: PATCH }) },
    ]);
    const before = proxy.model.requests.length;
    const second = await ask({
      previous_response_id: first.id,
      input: [approve('mcpr_call_a1Qd8f2kJ3mZ1xV7'), approve('mcpr_call_a2Qd8f2kJ3mZ1xV7')],
      tools,
    });
    expect(second.output).toMatchObject([
      {
        id: 'mcp_call_a1Qd8f2kJ3mZ1xV7',
        name: 'exec_command',
        approval_request_id: 'mcpr_call_a1Qd8f2kJ3mZ1xV7',
        output: expect.stringContaining('Output:\nyes\n'),
      },
      {
        id: 'mcp_call_a2Qd8f2kJ3mZ1xV7',
        name: 'apply_patch',
        approval_request_id: 'mcpr_call_a2Qd8f2kJ3mZ1xV7',
      },
      { type: 'message' },
    ]);
    expect(proxy.model.requests.length - before).toBe(1);
    expect(await readFile(path.join(shop, 'a.txt'), 'utf8')).toBe('"héllo"\n');
    expect(asked().map(({ type, call_id: callId }) => [type, callId])).toEqual([
      ['message', undefined],
      ['function_call', 'call_a3Qd8f2kJ3mZ1xV7'],
      ['function_call_output', 'call_a3Qd8f2kJ3mZ1xV7'],
      ['function_call', 'call_a1Qd8f2kJ3mZ1xV7'],
      ['custom_tool_call', 'call_a2Qd8f2kJ3mZ1xV7'],
      ['function_call_output', 'call_a1Qd8f2kJ3mZ1xV7'],
      ['custom_tool_call_output', 'call_a2Qd8f2kJ3mZ1xV7'],
    ]);
  });

  it('may be declined, with a reason, or not given', async () => {
    const first = await askFor(
      command('touch never.txt', 'call_d1Qd8f2kJ3mZ1xV7'),
      command('touch never.txt', 'call_d2Qd8f2kJ3mZ1xV7'),
    );
    const [one, two] = ['mcpr_call_d1Qd8f2kJ3mZ1xV7', 'mcpr_call_d2Qd8f2kJ3mZ1xV7'];
    await ask({
      previous_response_id: first.id,
      input: [approve(one, { approve: false, reason: 'too dear' }), approve(two, { approve: false })],
      tools,
    });
    expect(asked().flatMap(({ output }) => (output === undefined ? [] : [output]))).toEqual([
      'This call was declined: too dear',
      'This call was declined.',
    ]);
    await ask({ previous_response_id: first.id, input: 'Never mind.', tools });
    expect(asked().flatMap(({ output }) => (output === undefined ? [] : [output]))).toEqual([
      'This call was not approved.',
      'This call was not approved.',
    ]);
    await expect(readFile(path.join(shop, 'never.txt'))).rejects.toThrow('ENOENT');
  });

  it('are used once, however often and at once they are sent', async () => {
    const first = await askFor(command('echo x >> once.txt', 'call_Qd8f2kJ3mZ1xV7bN0pLr'));
    const again = () =>
      statusOf(
        ask({
          previous_response_id: first.id,
          input: [approve('mcpr_call_Qd8f2kJ3mZ1xV7bN0pLr')],
          tools,
        }),
      );
    const codes = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(again));
    expect(codes.filter((code) => code === 200)).toHaveLength(1);
    expect(codes.filter((code) => code === 'approval_already_used')).toHaveLength(7);
    expect(await readFile(path.join(shop, 'once.txt'), 'utf8')).toBe('x\n');
    const stateless = [QUESTION, ...(first.output as ResponseInputItem[])];
    await expect(
      ask({ input: [...stateless, approve('mcpr_call_Qd8f2kJ3mZ1xV7bN0pLr')], tools }),
    ).rejects.toMatchObject({ status: 400, code: 'approval_already_used', param: 'input[3]' });
  });

  it('need their request, with the same call, and the workspace', async () => {
    const first = await askFor(command('echo x', 'call_n1Qd8f2kJ3mZ1xV7'));
    const id = 'mcpr_call_n1Qd8f2kJ3mZ1xV7';
    const request = first.output.at(-1) as ResponseInputItem.McpApprovalRequest;
    const changed = { ...request, arguments: '{"cmd":"rm -rf ."}' };
    for (const [input, use] of [
      [[QUESTION, approve(id)], tools],
      [[QUESTION, request, changed, approve(id)], tools],
      [[QUESTION, request, approve(id)], []],
      [[QUESTION, request, approve(id)], [workspace('docs')]],
    ] as const)
      await expect(ask({ input: [...input], tools: [...use] })).rejects.toMatchObject({
        status: 400,
        code: 'invalid_value',
        param: expect.stringMatching(/^input\[/),
      });
    expect(await statusOf(ask({ input: [QUESTION, request, approve(id)], tools }))).toBe(200);
  });
});

describe('a workspace in use', () => {
  it('is a 429 for a client that waits; a background response waits', async () => {
    proxy.use(thenDone(command('until [ -e go ]; do sleep 0.1; done; rm go', 'call_b1')));
    const first = await client.openai.responses.create({
      model: 'gpt-5.5',
      input: [QUESTION],
      tools: [workspace()],
      background: true,
    });
    await until(async () => (await client.openai.responses.retrieve(first.id)).status === 'in_progress');
    await until(() => proxy.model.requests.at(-1)?.body['tools'] !== undefined);
    await expect(ask()).rejects.toMatchObject({
      status: 429,
      code: 'workspace_busy',
    });
    const second = await client.openai.responses.create({
      model: 'gpt-5.5',
      input: [QUESTION],
      tools: [workspace()],
      background: true,
    });
    expect((await client.openai.responses.retrieve(second.id)).status).toBe('queued');
    await writeFile(path.join(shop, 'go'), '');
    const endOf = async ({ id }: Answer): Promise<string> => {
      await until(async () => {
        const { status } = await client.openai.responses.retrieve(id);
        return status !== 'queued' && status !== 'in_progress';
      });
      const { status, output_text: text } = await client.openai.responses.retrieve(id);
      return `${String(status)}: ${text}`;
    };
    expect(await endOf(first)).toBe('completed: Done.');
    expect(await endOf(second)).toBe('completed: Done.');
  });
});

describe('other APIs', () => {
  it('get the final text: Chat', async () => {
    proxy.use(thenDone(command('echo a')));
    const chat = (more: object) =>
      proxy.openai.chat.completions.create({
        model: 'gpt-5.5',
        messages: [QUESTION],
        tools: [workspace('docs', more)] as never,
      });
    const { choices } = await chat({ require_approval: 'never' });
    expect(choices).toMatchObject([{ message: { content: 'Done.' }, finish_reason: 'stop' }]);
    await expect(chat({})).rejects.toMatchObject({ status: 400, param: 'tools[0]' });
  });

  it('get the final text: Messages', async () => {
    proxy.use(thenDone(command('echo a')));
    const answer = await proxy.post('/v1/messages', {
      model: 'gpt-5.5',
      max_tokens: 1000,
      messages: [QUESTION],
      mcp_servers: [{ type: 'url', name: 'shop' }],
      tools: [{ type: 'mcp_toolset', mcp_server_name: 'shop' }],
    });
    const { content } = (await answer.json()) as { readonly content: readonly { readonly type: string }[] };
    expect(content.map(({ type }) => type)).toEqual(['mcp_tool_use', 'mcp_tool_result', 'text']);
  });
});

describe('a key', () => {
  it('may use the workspaces that it has, and does not know of others', async () => {
    const keyWith = async (fields: object): Promise<OpenAI> => {
      const answer = await proxy.post('/v1/codex/keys', { name: 'worker', ...fields });
      const { key } = (await answer.json()) as { readonly key: string };
      return proxy.openai.withOptions({ apiKey: key });
    };
    proxy.use(hello);
    const [none, some] = [await keyWith({}), await keyWith({ workspaces: ['sh*'] })];
    expect((await askBy(some, {})).output[0]).toMatchObject({ server_label: 'shop' });
    for (const [openai, label, known] of [
      [none, 'shop', "'adder'."],
      [some, 'docs', "'adder', 'shop'."],
    ] as const)
      await expect(askBy(openai, { tools: [workspace(label)] })).rejects.toMatchObject({
        status: 400,
        code: 'invalid_value',
        param: 'tools[0]',
        message: expect.stringMatching(
          new RegExp(`there is no MCP server '${label}'.*configured are ${known}$`),
        ),
      });
  });

  it('cannot approve the call of another key', async () => {
    proxy.use(says([command('echo x', 'call_k1Qd8f2kJ3mZ1xV7')]));
    const tools = [workspace('shop', { require_approval: 'always' })];
    const first = await ask({ tools });
    const answer = await proxy.post('/v1/codex/keys', { name: 'thief', workspaces: ['*'] });
    const { key } = (await answer.json()) as { readonly key: string };
    await expect(
      askBy(proxy.openai.withOptions({ apiKey: key }), {
        previous_response_id: first.id,
        input: [approve('mcpr_call_k1Qd8f2kJ3mZ1xV7')],
        tools,
      }),
    ).rejects.toMatchObject({ status: 400, code: 'previous_response_not_found' });
  });
});

describe('a client that speaks while the model works', () => {
  it('steers a stream', async () => {
    proxy.use(
      inTurn(
        says([command('echo a')]),
        says([{ text: 'One, two', end: 'open' }, { hang: true }]),
        says([{ text: 'Un, deux.' }]),
      ),
    );
    const stream = proxy.openai.responses.stream({
      model: 'gpt-5.5',
      input: [QUESTION],
      tools: [workspace()],
    });
    const id = Promise.withResolvers<string>();
    stream.on('response.created', ({ response }) => id.resolve(response.id));
    await new Promise<void>((resolve) => {
      stream.on('response.output_text.delta', ({ snapshot }) => snapshot.includes('two') && resolve());
    });
    const steered = await proxy.post(`/v1/responses/${await id.promise}/steer`, { input: 'In French.' });
    expect(steered.status).toBe(202);
    const answer = await stream.finalResponse();
    expect(answer.output.map(({ type }) => type)).toEqual([
      'mcp_list_tools',
      'mcp_call',
      'message',
      'message',
    ]);
    expect(answer.output_text).toContain('Un, deux.');
    expect(asked().map(({ type, role }) => role ?? type)).toEqual([
      'user',
      'function_call',
      'function_call_output',
      'user',
    ]);
  });

  it('uses a WebSocket', async () => {
    proxy.use(thenDone(command('echo a')));
    const socket = await openSocket(proxy);
    const end = await socket.create({ model: 'gpt-5.5', input: [QUESTION], tools: [workspace()] });
    expect(objectsIn(responseOf(end)['output']).map(({ type }) => type)).toEqual([
      'mcp_list_tools',
      'mcp_call',
      'message',
    ]);
    socket.ws.close();
  });
});

it('works without the relay, where codex reserves the names of its tools', async () => {
  const folderOfPlain = await folder('plain');
  const plain = await startProxy(
    inTurn(
      says([{ call: { name: 'tool_exec_command', arguments: { cmd: 'echo a' }, callId: 'call_1' } }]),
      says([{ call: { name: 'apply_patch', arguments: { input: PATCH }, callId: 'call_2' } }]),
      hello,
    ),
    {
      PROXY_WIRE: 'off',
      PROXY_MCP_CONFIG: files.write({ shop: { workspace: folderOfPlain, require_approval: 'never' } }),
    },
  );
  try {
    expect(called((await askBy(plain.openai, {})).output)).toMatchObject([
      { name: 'exec_command', output: expect.stringContaining('Output:\na\n') },
      { name: 'apply_patch', arguments: JSON.stringify({ patch: PATCH }) },
    ]);
    expect(await readFile(path.join(folderOfPlain, 'a.txt'), 'utf8')).toBe('"héllo"\n');
  } finally {
    await plain.close();
    await rm(folderOfPlain, { recursive: true, force: true });
  }
});

it('counts runs, calls and approvals', async () => {
  proxy.use(inTurn(says([command('echo a')]), hello));
  await ask({ tools: [workspace('docs', { require_approval: 'never' })] });
  proxy.use(says([command('echo a', 'call_m1Qd8f2kJ3mZ1xV7')]));
  const first = await ask({ tools: [workspace('docs')] });
  proxy.use(hello);
  const input = [approve('mcpr_call_m1Qd8f2kJ3mZ1xV7', { approve: false })];
  await ask({ previous_response_id: first.id, input, tools: [workspace('docs')] });
  const metrics = await (await proxy.get('/metrics')).text();
  const ofDocs = metrics.split('\n').filter((line) => line.includes('workspace="docs"'));
  expect(ofDocs.filter((line) => !line.startsWith('proxy_workspace_runs_total'))).toEqual(
    expect.arrayContaining([
      'proxy_workspace_runs_active{workspace="docs"} 0',
      'proxy_workspace_approvals_total{workspace="docs",decision="asked"} 1',
      'proxy_workspace_approvals_total{workspace="docs",decision="declined"} 1',
      expect.stringMatching(
        /^proxy_workspace_calls_total\{workspace="docs",tool="exec_command",outcome="completed"\} \d/,
      ),
    ]),
  );
  expect(ofDocs.join('\n')).toMatch(
    /proxy_workspace_runs_total\{workspace="docs",outcome="completed"\} [3-9]/,
  );
});
