import { expect, it } from 'vitest';

import { mcpNamespace, toolsBehind } from './mcp-names.ts';

const tool = (name: string) => ({ name, description: null, inputSchema: {}, annotations: null });
const LONG = 'x'.repeat(80);
const TOOLS = ['add', 'do-it', 'do.it', 'a.b', LONG].map(tool);

it.each([
  ['add', ['add']],
  ['a_b', ['a.b']],
  // Both have this form; codex tells them apart by a hash.
  ['do_it', ['do-it', 'do.it']],
  ['do_it_5445d667e03f', ['do-it', 'do.it']],
  [`${'x'.repeat(40)}_5445d667e03f`, [LONG]],
  ['other', []],
])('%s is one of these', (wireName, names) => {
  expect(toolsBehind(wireName, TOOLS).map(({ name }) => name)).toEqual(names);
});

it('a namespace has no hyphen', () => expect(mcpNamespace('my-server')).toBe('mcp__my_server'));
