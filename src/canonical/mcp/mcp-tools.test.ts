import { expect, it } from 'vitest';

import { McpToolNames, mcpNamespace } from './mcp-tools.ts';

const tool = (name: string) => ({
  name,
  title: null,
  description: null,
  inputSchema: {},
  outputSchema: null,
  annotations: null,
});
const LONG = 'x'.repeat(80);
const TOOLS = ['add', 'do-it', 'do.it', 'a.b', LONG].map(tool);

const meant = (wireName: string, tools = TOOLS): string | null => {
  const found = new McpToolNames(tools).find(wireName);
  return found === null || found === 'many' ? found : found.name;
};

it.each([
  ['add', 'add'],
  ['a_b', 'a.b'],
  // Two tools have this form; codex distinguishes them by a hash.
  ['do_it', 'many'],
  ['do_it_5445d667e03f', 'many'],
  [`${'x'.repeat(40)}_5445d667e03f`, LONG],
  ['other', null],
  ['zzz', null],
  ['', null],
])('finds %s as %s', (wireName, name) => {
  expect(meant(wireName)).toBe(name);
});

it('finds every tool among thousands', () => {
  const many = Array.from({ length: 2_000 }, (_, index) => tool(`tool-${index}`));
  const names = new McpToolNames(many);
  expect(many.every((one) => names.find(one.name.replace('-', '_')) === one)).toBe(true);
});

it('replaces hyphens in a namespace', () => expect(mcpNamespace('my-server')).toBe('mcp__my_server'));
