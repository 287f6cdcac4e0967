import { describe, expect, it } from 'vitest';

import type { Item, RawItem } from '../../../canonical/request/item.ts';
import { codexHistory, declinedIn, type LabelOwners } from './workspace-history.ts';

const raw = (type: string, more: object): Item => {
  const item = { type, ...more } as RawItem;
  const { id } = item;
  return {
    kind: type === 'mcp_call' ? 'hosted-call' : 'opaque',
    ...(typeof id === 'string' ? { id } : {}),
    raw: item,
  };
};
const call = (name: string, given: string, output: string, label = 'web'): Item =>
  raw('mcp_call', { id: 'mcp_call_1', server_label: label, name, arguments: given, output });
const REQUEST = raw('mcp_approval_request', {
  id: 'mcpr_call_2',
  server_label: 'web',
  name: 'exec_command',
  arguments: '{"cmd":"ls"}',
});
const answer = (more: object) =>
  raw('mcp_approval_response', { approval_request_id: 'mcpr_call_2', ...more });
const user: Item = { kind: 'message', role: 'user', parts: [] };
const LIST = raw('mcp_list_tools', { server_label: 'web', tools: [{ name: 'exec_command' }] });

const OWNERS: LabelOwners = {
  workspaces: new Set(['web']),
  servers: new Set(['tickets', 'mine']),
  isUsed: true,
};
const read = (items: readonly Item[], owners: Partial<LabelOwners> = {}) =>
  codexHistory(items, { ...OWNERS, ...owners });
const NOT_RUN = [
  { kind: 'tool-call', tool: 'function', callId: 'call_2', name: 'exec_command', input: '{"cmd":"ls"}' },
  { kind: 'tool-output', tool: 'function', callId: 'call_2' },
];

describe('items of workspaces in a history', () => {
  it('are calls of codex, as the model has seen them', () => {
    expect(read([user, LIST, call('exec_command', '{"cmd": "ls"}', 'a\n')])).toMatchObject({
      items: [
        user,
        {
          kind: 'tool-call',
          tool: 'function',
          callId: 'call_1',
          name: 'exec_command',
          input: '{"cmd": "ls"}',
        },
        { kind: 'tool-output', tool: 'function', callId: 'call_1', output: 'a\n' },
      ],
      places: [0, 2, 2],
      listed: new Set(['web']),
    });
    const patch = '*** Begin Patch\n"\u2028\n*** End Patch\n';
    expect(read([call('apply_patch', JSON.stringify({ patch }), 'Done!')])?.items).toEqual([
      { kind: 'tool-call', tool: 'custom', callId: 'call_1', name: 'apply_patch', input: patch },
      { kind: 'tool-output', tool: 'custom', callId: 'call_1', output: 'Done!' },
    ]);
  });

  it('have images again, and other output as its text', () => {
    const outputOf = (name: string, output: string) => {
      const item = read([call(name, '{}', output)])?.items[1];
      return item?.kind === 'tool-output' ? item.output : null;
    };
    const parts = JSON.stringify([
      { type: 'input_text', text: 'a' },
      { type: 'input_image', image_url: 'data:image/png;base64,aGk=', detail: 'high' },
    ]);
    expect(outputOf('view_image', parts)).toEqual([
      { kind: 'text', text: 'a' },
      { kind: 'image', url: 'data:image/png;base64,aGk=', detail: 'high' },
    ]);
    for (const [name, output] of [
      ['exec_command', parts],
      ['view_image', 'no such file'],
      ['view_image', '[{"type":"other"}]'],
      ['view_image', '[{'],
    ] as const)
      expect(outputOf(name, output)).toBe(output);
  });

  it('stay codex’s if the workspace is gone, but not under a label of another server', () => {
    const gone = { workspaces: new Set<string>(), isUsed: false };
    expect(read([LIST, call('exec_command', '{}', '')], gone)?.items).toHaveLength(2);
    expect(
      read([raw('mcp_list_tools', { server_label: 'old', tools: [{ name: 'find' }] })], gone),
    ).toBeNull();
    for (const items of [
      [call('exec_command', '{}', '', 'tickets')],
      [call('exec_command', '{}', '', 'mine')],
      [call('find', '{}', '', 'old')],
      [user],
    ])
      expect(read(items, gone)).toBeNull();
  });

  it('are approved calls without an output, in the order of their approvals', () => {
    const history = read([user, REQUEST, answer({ approve: true }), user]);
    expect(history).toMatchObject({
      items: [user, user],
      places: [0, 3],
      approved: [{ label: 'web', requestId: 'mcpr_call_2', place: 2, call: NOT_RUN[0] }],
    });
  });

  it.each([
    [[REQUEST, answer({ approve: false, reason: 'too dear' })], 'This call was declined: too dear'],
    [[REQUEST, answer({ approve: false }), answer({ approve: true })], 'This call was declined.'],
    [[REQUEST, user], 'This call was not approved.'],
  ])('are not run without an approval', (items, output) => {
    const history = read(items);
    expect(history?.items.slice(0, 2)).toMatchObject([NOT_RUN[0], { ...NOT_RUN[1], output }]);
    expect(history?.approved).toEqual([]);
  });

  it('are refused without the request that they approve', () => {
    const orphan = [answer({ approve: true })];
    expect(read(orphan)?.refused).toMatchObject([{ path: { item: 0 }, kind: 'invalid_value' }]);
    expect(read(orphan, { isUsed: false })).toBeNull();
  });
});

it('counts what the newest input declines, each call once', () => {
  const no = answer({ approve: false });
  const said: Item = { kind: 'message', role: 'assistant', parts: [] };
  expect(declinedIn([user, REQUEST, no, no, user], 'web')).toBe(1);
  expect(declinedIn([REQUEST, answer({ approve: true })], 'web')).toBe(0);
  expect(declinedIn([REQUEST, no], 'docs')).toBe(0);
  expect(declinedIn([REQUEST, no, said, user], 'web')).toBe(0);
});
