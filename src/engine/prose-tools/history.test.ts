import { describe, expect, it } from 'vitest';

import type { Item, ToolCall, ToolOutput } from '../../canonical/request/item.ts';
import { proseHistory, writeHistory } from './history.ts';

const say = (role: 'user' | 'assistant', text: string): Item => ({
  kind: 'message',
  role,
  parts: [{ kind: 'text', text }],
});
const call = (callId: string, different: Partial<ToolCall> = {}): ToolCall => ({
  kind: 'tool-call',
  tool: 'function',
  callId,
  name: 'f',
  input: '{"a": "\\u00e9"}',
  ...different,
});
const output = (callId: string, given: ToolOutput['output'] = callId): ToolOutput => ({
  kind: 'tool-output',
  tool: 'function',
  callId,
  output: given,
});
const BLOCK = '<tool_call>{"name":"f","arguments":"{\\"a\\": \\"\\\\u00e9\\"}"}</tool_call>';
const written = (items: readonly Item[]): Promise<readonly Item[]> =>
  writeHistory(proseHistory(items), new AbortController().signal);

describe('a history in prose', () => {
  it('writes calls into the assistant message before them, and outputs into user messages', async () => {
    const items = [
      say('user', 'hi'),
      say('assistant', 'Let me look.'),
      call('c1'),
      call('c2'),
      output('c2'),
      output('c1'),
      say('user', 'and?'),
      call('c3'),
      output('c3'),
    ];
    expect(await written(items)).toEqual([
      say('user', 'hi'),
      say('assistant', `Let me look.\n${BLOCK}\n${BLOCK}`),
      say(
        'user',
        '<tool_result name="f" call_id="c2">c2</tool_result>\n<tool_result name="f" call_id="c1">c1</tool_result>',
      ),
      say('user', 'and?'),
      say('assistant', BLOCK),
      say('user', '<tool_result name="f" call_id="c3">c3</tool_result>'),
    ]);
    expect(proseHistory(items).map(({ place }) => place)).toEqual([0, 1, 4, 6, 7, 8]);
  });

  it('names the tool of an output that no call asked for', async () => {
    const { callId: _, ...rest } = output('', 'Approved.');
    const plan: Item = { ...rest, callId: null, name: 'plan', namespace: 'editor' };
    expect(await written([say('user', 'hi'), plan])).toEqual([
      say('user', 'hi'),
      say('user', '<tool_result name="editor.plan">Approved.</tool_result>'),
    ]);
  });

  it('keeps other items in their places', async () => {
    const items: readonly Item[] = [
      say('assistant', 'x'),
      { kind: 'reasoning', summary: [], encryptedContent: 'e' },
      call('c1', { tool: 'custom', namespace: 'n', input: 'a\nb' }),
      output('c1', [
        { kind: 'text', text: 'see' },
        { kind: 'image', url: 'data:,' },
      ]),
    ];
    expect(await written(items)).toEqual([
      ...items.slice(0, 2),
      say('assistant', '<tool_call>{"name":"n.f","arguments":"{\\"input\\":\\"a\\\\nb\\"}"}</tool_call>'),
      {
        kind: 'message',
        role: 'user',
        parts: [
          { kind: 'text', text: '<tool_result name="n.f" call_id="c1">see' },
          { kind: 'image', url: 'data:,' },
          { kind: 'text', text: '</tool_result>' },
        ],
      },
    ]);
  });

  it('names the call of an output, even if its id is used again', async () => {
    const items = [call('c'), output('c'), call('c', { name: 'g' }), output('c')];
    expect(await written(items)).toMatchObject([
      {},
      say('user', '<tool_result name="f" call_id="c">c</tool_result>'),
      {},
      say('user', '<tool_result name="g" call_id="c">c</tool_result>'),
    ]);
  });

  it('escapes quotes in ids', async () => {
    expect(await written([output('a"><b&')])).toEqual([
      say('user', '<tool_result call_id="a&quot;><b&amp;">a"><b&</tool_result>'),
    ]);
  });

  it('does not add calls to messages that contain more than text', async () => {
    const refusal: Item = { kind: 'message', role: 'assistant', parts: [{ kind: 'refusal', text: 'no' }] };
    expect(await written([refusal, call('c1')])).toEqual([refusal, say('assistant', BLOCK)]);
  });

  it('is written once, however many calls are adjacent', async () => {
    const calls = Array.from({ length: 20_000 }, (_, index) => call(`c${index}`));
    const [only, ...others] = await written(calls);
    expect(others).toEqual([]);
    expect(only).toEqual(say('assistant', calls.map(() => BLOCK).join('\n')));
  });
});
