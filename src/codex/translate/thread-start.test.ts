import { describe, expect, it } from 'vitest';

import { threadSettings } from '../../../test/support/thread-settings.ts';
import { functionTool, turnRequest } from '../../../test/support/turn-request.ts';
import type { Item } from '../../canonical/request/item.ts';
import type { NamespaceTool } from '../../canonical/request/tool.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { isPromptMessage, toCarrierStart, toThreadStart } from './thread-start.ts';
import { toTurnStart } from './turn-start.ts';

const message = (role: 'system' | 'developer' | 'user', ...texts: readonly string[]): Item => ({
  kind: 'message',
  role,
  parts: texts.map((text) => ({ kind: 'text', text })),
});

const start = (request: TurnRequest, given = threadSettings()) =>
  toThreadStart(request, given, { slug: request.model });

const PLAIN = {
  model: 'gpt-5.5',
  modelProvider: 'proxy',
  cwd: '/work',
  sandbox: 'read-only',
  approvalPolicy: 'never',
  baseInstructions: '',
  dynamicTools: [],
  environments: [],
  ephemeral: true,
  experimentalRawEvents: true,
};

describe('toThreadStart', () => {
  it('adds nothing to a plain request', () => {
    expect(start(turnRequest({ instructions: 'Be kind.' }))).toEqual(PLAIN);
  });

  it('lets nothing override the approval settings of MCP tools', () => {
    const given = threadSettings({ sandboxMode: 'danger-full-access', approvalPolicy: 'on-request' });
    const mcp_servers = { a: { required: true } };
    expect(toThreadStart(turnRequest(), given, { slug: 'gpt-5.5' }, mcp_servers)).toEqual({
      ...PLAIN,
      config: { mcp_servers },
    });
  });

  it('has nothing of a client in a thread whose requests the relay writes', () => {
    const mcp_servers = { a: { required: true } };
    const carrier = { ...PLAIN, model: 'slug', experimentalRawEvents: false };
    expect(toCarrierStart('slug', threadSettings())).toEqual(carrier);
    const given = threadSettings({ sandboxMode: 'danger-full-access', approvalPolicy: 'on-request' });
    expect(toCarrierStart('slug', given, mcp_servers)).toEqual({ ...carrier, config: { mcp_servers } });
  });

  it("uses the app-server's name of the model", () => {
    const strategy = { slug: 'gpt-5.5--full' };
    expect(toThreadStart(turnRequest(), threadSettings(), strategy)).toEqual({
      ...PLAIN,
      model: 'gpt-5.5--full',
    });
  });

  it('uses the settings of the deployment and of the request', () => {
    const request = turnRequest({ model: 'm', verbosity: 'high', serviceTier: 'flex' });
    const given = threadSettings({
      sandboxMode: 'workspace-write',
      approvalPolicy: 'on-request',
      workdir: '/else',
    });
    expect(start(request, given)).toEqual({
      ...PLAIN,
      model: 'm',
      cwd: '/else',
      sandbox: 'workspace-write',
      approvalPolicy: 'on-request',
      config: { model_verbosity: 'high' },
      serviceTier: 'flex',
    });
  });

  it('declares tools unchanged; one without parameters accepts an empty object', () => {
    const parameters = { type: 'object', properties: { a: { type: 'string', minLength: 2 } } };
    const tools = [functionTool('a'), functionTool('b', { description: 'B', parameters, strict: true })];
    expect(start(turnRequest({ tools })).dynamicTools).toEqual([
      { type: 'function', name: 'a', description: '', inputSchema: { type: 'object', properties: {} } },
      { type: 'function', name: 'b', description: 'B', inputSchema: parameters },
    ]);
  });

  it('declares namespaces; the one for tools without a namespace is codex’s own', () => {
    const f = { type: 'function', name: 'f', parameters: { type: 'object' } };
    const space = (name: string): NamespaceTool => ({
      kind: 'namespace',
      name,
      raw: { type: 'namespace', name, tools: [f] },
      members: [{ tool: 'function', name: 'f' }],
    });
    const member = { type: 'function', name: 'f', description: '', inputSchema: { type: 'object' } };
    expect(start(turnRequest({ tools: [space('functions'), space('n')] })).dynamicTools).toEqual([
      member,
      { type: 'namespace', name: 'n', description: '', tools: [member] },
    ]);
  });

  it('developer: turns all prompts of the client into developer instructions, in order', () => {
    const request = turnRequest({
      instructions: 'A',
      items: [message('system', 'B', 'C'), message('user', 'D'), message('developer', 'E')],
    });
    expect(start(request, threadSettings({ instructionsTarget: 'developer' }))).toEqual({
      ...PLAIN,
      developerInstructions: 'A\n\nB\n\nC\n\nE',
    });
  });

  it('developer without a prompt: sets none', () => {
    expect(start(turnRequest(), threadSettings({ instructionsTarget: 'developer' }))).toEqual(PLAIN);
  });
});

describe('the choice of tools', () => {
  const tools = [functionTool('a'), functionTool('b'), functionTool('c')];
  const names = (request: TurnRequest, given = threadSettings()): unknown =>
    start(request, given).dynamicTools?.map((one) => ('name' in one ? one.name : null));

  it.each([
    [{ mode: 'auto' }, ['a', 'b', 'c']],
    [{ mode: 'required' }, ['a', 'b', 'c']],
    [{ mode: 'named', tool: { kind: 'function', name: 'b' } }, ['b']],
    [{ mode: 'none' }, []],
    [
      {
        mode: 'allowed',
        required: false,
        tools: [
          { kind: 'function', name: 'c' },
          { kind: 'function', name: 'a' },
        ],
      },
      ['a', 'c'],
    ],
  ] as const)('%j', (toolChoice, callable) => {
    const request = turnRequest({ tools, toolChoice });
    // Without a tool choice in the request, the model sees only the allowed tools.
    expect(names(request)).toEqual(callable);
  });
});

describe('isPromptMessage', () => {
  it.each([
    ['a system message', message('system', 'a'), true],
    ['a developer message', message('developer', 'a', 'b'), true],
    ['a user message', message('user', 'a'), false],
    [
      'one with an image, which instructions cannot hold',
      { kind: 'message', role: 'developer', parts: [{ kind: 'image', url: 'data:' }] } as const,
      false,
    ],
    ['no message', { kind: 'compaction', encryptedContent: 'x' } as const, false],
  ])('%s', (_, item, expected) => {
    expect(isPromptMessage(item)).toBe(expected);
  });
});

describe('toTurnStart', () => {
  it.each([
    ['a plain request', {}, { summary: 'none' }],
    [
      'reasoning',
      {
        reasoning: { effort: 'high', effortName: 'reasoning.effort', summary: 'auto', context: null },
      } as const,
      { effort: 'high', summary: 'auto' },
    ],
    [
      'a JSON schema',
      {
        format: {
          kind: 'json-schema',
          name: 'n',
          description: null,
          schema: { type: 'object' },
          strict: true,
        },
      } as const,
      { summary: 'none', outputSchema: { type: 'object' } },
    ],
    ['any JSON', { format: { kind: 'json-object' } } as const, { summary: 'none' }],
  ])('%s', (_, different, expected) => {
    expect(toTurnStart(turnRequest(different), 't')).toEqual({ threadId: 't', input: [], ...expected });
  });
});
