import { describe, expect, it } from 'vitest';

import type { Item, RawItem } from '../../canonical/request/item.ts';
import { wholeHistory } from './fit-history.ts';
import { inMcpNamespace, mcpHistory } from './mcp-history.ts';

const raw = (type: string, more: object): Item => {
  const item = { type, ...more } as RawItem;
  const { id } = item;
  return {
    kind: type === 'mcp_call' ? 'hosted-call' : 'opaque',
    ...(typeof id === 'string' ? { id } : {}),
    raw: item,
  };
};
const about = { server_label: 'my-web', name: 'do.it', arguments: '{"a": 1}' };
const LIST = raw('mcp_list_tools', { id: 'mcpl_1', server_label: 'my-web', tools: [] });
const call = (more: object, id = 'mcp_call_1') => raw('mcp_call', { id, ...about, ...more });
const REQUEST = raw('mcp_approval_request', { id: 'mcpr_call_1', ...about });
const response = (more: object) =>
  raw('mcp_approval_response', { approval_request_id: 'mcpr_call_1', ...more });
const user: Item = { kind: 'message', role: 'user', parts: [] };

const pair = (output: string, callId = 'call_1'): readonly Item[] => [
  {
    kind: 'tool-call',
    tool: 'function',
    callId,
    name: 'do_it',
    namespace: 'mcp__my_web',
    input: '{"a": 1}',
  },
  { kind: 'tool-output', tool: 'function', callId, output },
];
const read = (items: readonly Item[], isOurs = true) =>
  mcpHistory(wholeHistory(items), () => (isOurs ? inMcpNamespace : null));

describe('MCP items in a history', () => {
  it.each([
    [{ output: '5' }, '5'],
    [{ output: null, error: 'no' }, 'no'],
    [{ error: { type: 'mcp_tool_execution_error', content: [{ type: 'text', text: 'no' }] } }, 'no'],
    [{ error: { type: 'mcp_protocol_error', code: 1, message: 'late' } }, 'late'],
    [{}, 'The call did not finish.'],
  ])('become a call and its output: %j', (more, output) => {
    expect(read([user, LIST, call(more)])).toMatchObject({
      items: [user, ...pair(output)],
      places: [0, 2, 2],
      listed: new Set(['my-web']),
      approved: [],
      refused: [],
    });
  });

  it('get their own call ids, even if items share an id', () => {
    const { items } = read([call({ output: '1' }), call({ output: '2' })]);
    const ids = items.flatMap((item) => (item.kind === 'tool-call' ? [item.callId] : []));
    expect(new Set(ids).size).toBe(2);
  });

  it('stay unchanged if the backend connects to the server', () => {
    const items = [LIST, call({ output: '5' }), REQUEST, response({ approve: true })];
    expect(read(items, false)).toMatchObject({ items, approved: [], refused: [] });
    const orphan = [response({ approve: true })];
    expect(read(orphan, false)).toMatchObject({ items: orphan, refused: [] });
  });

  it('run once if approved', () => {
    const agreed = response({ approve: true });
    expect(read([REQUEST, agreed])).toMatchObject({
      items: pair(''),
      approved: [{ requestId: 'mcpr_call_1', label: 'my-web', name: 'do.it', callId: 'call_1' }],
    });
    expect(read([REQUEST, agreed, agreed]).approved).toHaveLength(1);
    const run = call({ output: '5', approval_request_id: 'mcpr_call_1' });
    expect(read([REQUEST, agreed, run])).toMatchObject({ items: pair('5'), approved: [] });
  });

  it('do not run if declined or not answered', () => {
    expect(read([REQUEST, response({ approve: false, reason: 'too dear' })])).toMatchObject({
      items: pair('This call was declined: too dear'),
      approved: [],
    });
    expect(read([REQUEST, user])).toMatchObject({
      items: [...pair('This call was not approved.'), user],
      approved: [],
    });
  });

  it('stay declined after one declining answer', () => {
    const agreed = response({ approve: true });
    const declined = response({ approve: false });
    for (const answers of [
      [declined, agreed],
      [agreed, declined],
      [agreed, declined, agreed],
    ]) {
      expect(read([REQUEST, ...answers])).toMatchObject({
        items: pair('This call was declined.'),
        approved: [],
        refused: [],
      });
    }
  });

  it('do not run if two calls share the approved request', () => {
    const agreed = response({ approve: true });
    for (const more of [{ arguments: '{"a": 2}' }, { name: 'erase' }, { server_label: 'other' }]) {
      const other = raw('mcp_approval_request', { id: 'mcpr_call_1', ...about, ...more });
      for (const items of [
        [REQUEST, other, agreed],
        [REQUEST, agreed, other],
        [other, REQUEST, agreed],
      ]) {
        const { approved, refused } = read(items);
        expect([approved, refused]).toMatchObject([
          [],
          [
            {
              kind: 'invalid_value',
              why: expect.stringContaining("'mcpr_call_1' is in the input more than once"),
            },
          ],
        ]);
      }
    }
    expect(read([REQUEST, REQUEST, agreed]).approved).toHaveLength(1);
  });

  it('are rejected if the request of an answer is missing', () => {
    expect(read([user, response({ approve: true })]).refused).toMatchObject([
      { path: { item: 1 }, kind: 'invalid_value' },
    ]);
  });
});
