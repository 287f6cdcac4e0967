import { describe, expect, it } from 'vitest';

import type { Tool, ToolChoice } from '../../canonical/request/tool.ts';
import { functionTool } from '../../../test/support/turn-request.ts';
import { proseTools } from './declared-tools.ts';
import { proseInstructions } from './instructions.ts';
import type { ToolGuide } from './tool-guide.ts';

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
