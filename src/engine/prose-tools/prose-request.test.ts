import { describe, expect, it } from 'vitest';

import { functionTool } from '../../../test/support/turn-request.ts';
import type { Item, ToolCall, ToolOutput } from '../../canonical/request/item.ts';
import type { Tool, ToolChoice } from '../../canonical/request/tool.ts';
import {
  proseHistory,
  writeHistory,
  proseTools,
  proseInstructions,
  type ToolGuide,
} from './prose-request.ts';

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

const guide: ToolGuide = {
  guide: async (schemas) => schemas.map(() => ({ parameters: ['- a (string)'], example: '{"a":"b"}' })),
};
const silent: ToolGuide = { guide: async (schemas) => schemas.map(() => null) };

const TOOLS: readonly Tool[] = [
  functionTool('one', { strict: true, parameters: { b: 1, a: { $ref: '#' } } }),
  functionTool('two', { description: 'Line 1\nLine 2' }),
  { kind: 'custom', name: 'run', description: 'Runs.', format: { type: 'grammar', syntax: 'lark' } },
  {
    kind: 'namespace',
    name: 'ns',
    members: [{ tool: 'function', name: 'in' }],
    raw: { type: 'namespace', name: 'ns', tools: [{ type: 'function', name: 'in', strict: true }] },
  },
  { kind: 'hosted', raw: { type: 'web_search' } },
];

/** Everything after the rules; conformance tests check those. */
const afterRules = async (choice: ToolChoice, who = guide, tools = TOOLS): Promise<string> => {
  const text = await proseInstructions(proseTools(tools, choice), choice, {
    guide: who,
    caller: 'a',
    signal: new AbortController().signal,
  });
  const end = 'If no tool is needed, respond with plain text.\n\n';
  expect(text).toContain(end);
  return text.slice(text.indexOf(end) + end.length);
};

describe('the instructions', () => {
  it('describe each tool as a function with its schema and its guide', async () => {
    expect(await afterRules({ mode: 'auto' }))
      .toBe(`Strict tools: one, ns.in. Arguments MUST conform exactly to schema.

Available tools (schema):
- one: {"b":1,"a":{"$ref":"#"}}
- two: {"type":"object","properties":{}}
- run: {"type":"object","properties":{"input":{"type":"string","description":"The whole input of the tool."}},"required":["input"],"additionalProperties":false}
- ns.in: {"type":"object","properties":{}}

Per-tool guidance and examples (schema-conformant):
Tool: one
Parameters:
- a (string)
Example tool_call:
<tool_call>{"name":"one","arguments":"{\\"a\\":\\"b\\"}"}</tool_call>

Tool: two
Description: Line 1
Line 2
Parameters:
- a (string)
Example tool_call:
<tool_call>{"name":"two","arguments":"{\\"a\\":\\"b\\"}"}</tool_call>

Tool: run
Description: Runs.
The input must match: {"type":"grammar","syntax":"lark"}
Parameters:
- a (string)
Example tool_call:
<tool_call>{"name":"run","arguments":"{\\"a\\":\\"b\\"}"}</tool_call>

Tool: ns.in
Parameters:
- a (string)
Example tool_call:
<tool_call>{"name":"ns.in","arguments":"{\\"a\\":\\"b\\"}"}</tool_call>`);
  });

  it('omit a guide that is missing', async () => {
    expect(await afterRules({ mode: 'auto' }, silent, [functionTool('two')])).toBe(`Available tools (schema):
- two: {"type":"object","properties":{}}

Per-tool guidance and examples (schema-conformant):
Tool: two`);
  });

  it.each<readonly [string, ToolChoice]>([
    ['Tool choice is none: never emit <tool_call>.', { mode: 'none' }],
    ['Tool choice is required: you MUST emit at least one <tool_call>.', { mode: 'required' }],
    [
      'Tool choice is forced: you MUST call "two".',
      { mode: 'named', tool: { kind: 'function', name: 'two' } },
    ],
    [
      'Tool choice is forced: you MUST call "ns.in".',
      { mode: 'named', tool: { kind: 'function', name: 'in', namespace: 'ns' } },
    ],
  ])('say "%s"', async (line, choice) => {
    const [first, second] = (await afterRules(choice)).split('\n');
    expect([first, second]).toEqual([
      line,
      'Strict tools: one, ns.in. Arguments MUST conform exactly to schema.',
    ]);
  });

  it('name only the tools that are allowed', async () => {
    const tools = [{ kind: 'function', name: 'two' }] as const;
    const lines = async (required: boolean): Promise<string[]> =>
      (await afterRules({ mode: 'allowed', required, tools })).split('\n').slice(0, 3);
    expect(await lines(true)).toEqual([
      'Tool choice is required: you MUST emit at least one <tool_call>.',
      '',
      'Available tools (schema):',
    ]);
    expect(await lines(false)).toEqual([
      'Available tools (schema):',
      '- two: {"type":"object","properties":{}}',
      '',
    ]);
  });
});
