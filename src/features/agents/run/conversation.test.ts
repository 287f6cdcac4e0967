import { describe, expect, it } from 'vitest';

import { functionTool, turnRequest } from '../../../../test/support/turn-request.ts';
import { workspaceAt } from '../../../../test/support/agent-workers.ts';
import type { Item, Message, Produced } from '../../../canonical/request/item.ts';
import type { Tool } from '../../../canonical/request/tool.ts';
import { PLACEHOLDER, RunConversation, StrangeRequest } from './conversation.ts';
import type { AgentRunRequest } from './port.ts';

const message = (role: Message['role'], text: string, id?: string): Message => ({
  kind: 'message',
  role,
  parts: [{ kind: 'text', text }],
  ...(id === undefined ? {} : { id }),
});

const PROMPT = message('developer', 'Be codex.', 'msg_a');
const BEGINNING = message('user', PLACEHOLDER, 'msg_b');
const QUESTION = message('user', 'Why?');
const CALL: Produced = {
  kind: 'tool-call',
  tool: 'function',
  id: 'fc_1',
  callId: 'c1',
  name: 'exec_command',
  input: '{}',
};
const OUTPUT: Item = { kind: 'tool-output', tool: 'function', id: 'fco_1', callId: 'c1', output: 'out' };
const HEARD: Item = { kind: 'tool-output', tool: 'function', callId: 'c1', output: 'out' };

const EXEC = functionTool('exec_command', {
  parameters: {
    type: 'object',
    properties: { cmd: {}, sandbox_permissions: {}, justification: {}, prefix_rule: {} },
    required: ['cmd'],
  },
});
const PATCH: Tool = { kind: 'custom', name: 'apply_patch', description: null, format: null };
const CODEX = {
  instructions: null,
  tools: [EXEC, PATCH, functionTool('update_plan'), functionTool('spawn_agent')],
  parallelToolCalls: true,
};

const conversationOf = (different: Partial<AgentRunRequest> = {}): RunConversation =>
  new RunConversation({
    workspace: workspaceAt('/srv/shop'),
    access: 'write',
    tools: null,
    request: turnRequest({ items: [QUESTION] }),
    ...different,
  });

describe('RunConversation', () => {
  it('puts the conversation of the client after the prompt of codex', () => {
    const conversation = conversationOf();
    expect(conversation.read({ items: [PROMPT, BEGINNING] })).toEqual({
      outputs: [],
      steered: [],
      chars: 0,
    });
    const { items } = conversation.next(CODEX);
    expect(items).toEqual([message('developer', 'Be codex.'), QUESTION]);
  });

  it('begins where codex says it, whatever a user or a developer says', () => {
    const conversation = conversationOf();
    const developer = message('developer', PLACEHOLDER);
    const user = message('user', PLACEHOLDER);
    conversation.expect(user);
    expect(conversation.read({ items: [developer, BEGINNING, user] }).steered).toEqual([user]);
    expect(conversation.next(CODEX).items).toEqual([developer, QUESTION, user]);
  });

  it('keeps the answers of the model as they were, and takes outputs from codex', () => {
    const conversation = conversationOf();
    conversation.read({ items: [PROMPT, BEGINNING] });
    const reasoning: Produced = { kind: 'reasoning', id: 'rs_1', summary: [], encryptedContent: 'E' };
    const cut: Produced = { ...CALL, id: 'fc_2', callId: 'c2', status: 'incomplete' };
    conversation.answered([reasoning, CALL, cut]);
    const later = message('user', 'Hurry.');
    conversation.expect(later);
    const news = conversation.read({
      items: [PROMPT, BEGINNING, { ...CALL, name: 'changed' }, OUTPUT, message('user', 'Hurry.', 'msg_b')],
    });
    expect(news).toEqual({ outputs: [HEARD], steered: [later], chars: 9 });
    expect(news.steered[0]).toBe(later);
    expect(conversation.forget(later)).toBe(false);
    expect(conversation.next(CODEX).items.slice(2)).toEqual([reasoning, CALL, HEARD, later]);
    // What codex has said before is not read again.
    const again = [PROMPT, BEGINNING, CALL, OUTPUT, later, message('developer', 'The date is new.')];
    expect(conversation.read({ items: again })).toMatchObject({ outputs: [], steered: [] });
    expect(conversation.next(CODEX).items.at(-1)).toEqual(message('developer', 'The date is new.'));
  });

  it('gives a call without an output one, so that each has one', () => {
    const conversation = conversationOf();
    conversation.read({ items: [BEGINNING] });
    conversation.answered([CALL]);
    if (CALL.kind === 'tool-call') conversation.unanswered(CALL, 'It was given up.');
    expect(conversation.next(CODEX).items.slice(1)).toEqual([CALL, { ...HEARD, output: 'It was given up.' }]);
  });

  it('says the same of the environment in every run', () => {
    const entry = (access: string, where: string): string =>
      `<entry access="${access}"><path>${where}</path></entry>`;
    const environment = (...entries: readonly string[]): Message =>
      message('user', `<environment_context><cwd>/srv/shop</cwd>${entries.join('')}</environment_context>`);
    const shop = [entry('write', '/srv/shop'), entry('deny', '/srv/shop/.env')];
    const own = [
      '<entry access="deny" escalatable="false"><path>/var/proxy</path></entry>',
      entry('write', '/var/proxy/run/agent-7c21'),
      entry('read', '/srv/shopping'),
    ];
    const more = [entry('read', '/opt/a&amp;b'), '<entry access="read"><special>:minimal</special></entry>'];
    const conversation = conversationOf({ workspace: workspaceAt('/srv/shop', { read: ['/opt/a&b'] }) });
    conversation.read({ items: [environment(...own, ...shop, ...more), BEGINNING] });
    expect(conversation.next(CODEX).items[0]).toEqual(environment(...shop, ...more));
    conversation.read({ items: [PROMPT, BEGINNING, environment(...own)] });
    expect(conversation.next(CODEX).items.at(-1)).toEqual(environment());
    const without = conversationOf({ workspace: null });
    without.read({ items: [environment(...own), BEGINNING] });
    expect(without.next(CODEX).items).toEqual([QUESTION]);
  });

  it('recognises requests that are not about it', () => {
    const conversation = conversationOf();
    expect(() => conversation.read({ items: [PROMPT, message('user', 'Other.')] })).toThrow(StrangeRequest);
    conversation.read({ items: [PROMPT, BEGINNING] });
    expect(() => conversation.read({ items: [PROMPT] })).toThrow(StrangeRequest);
  });

  it('asks as the client does, with the tools of codex; a forced choice holds once', () => {
    const request = turnRequest({
      items: [QUESTION],
      tools: [functionTool('weather')],
      toolChoice: { mode: 'required' },
      reasoning: { effort: 'high', summary: 'auto', context: null },
    });
    const conversation = conversationOf({ request });
    conversation.read({ items: [PROMPT, BEGINNING] });
    const first = conversation.next({ ...CODEX, instructions: 'Be codex.' });
    expect(first).toMatchObject({
      instructions: 'Be codex.',
      reasoning: { effort: 'high' },
      toolChoice: { mode: 'required' },
      parallelToolCalls: true,
    });
    expect(first.tools).toEqual([
      { ...EXEC, parameters: { type: 'object', properties: { cmd: {} }, required: ['cmd'] } },
      PATCH,
      functionTool('update_plan'),
      functionTool('weather'),
    ]);
    expect(conversation.next(CODEX).toolChoice).toEqual({ mode: 'auto' });
  });

  it.each([
    [{ access: 'read' as const }, ['exec_command', 'update_plan']],
    [{ workspace: workspaceAt('/srv/shop', { access: 'read' }) }, ['exec_command', 'update_plan']],
    [{ tools: new Set(['update_plan'] as const) }, ['update_plan']],
    [{ workspace: null }, []],
  ])('offers what the run may use: %j', (different, names) => {
    const conversation = conversationOf(different);
    conversation.read({ items: [BEGINNING] });
    const { tools } = conversation.next(CODEX);
    expect(tools.map((tool) => ('name' in tool ? tool.name : tool.kind))).toEqual(names);
  });
});
