import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../kit/json/json.ts';
import { isAmong, mayNeedApproval, needsApproval, readMcpRules, type McpRules } from './mcp-use.ts';

const read = (more: JsonObject, standard: 'always' | 'never' = 'always'): McpRules => {
  const rules = readMcpRules({ type: 'mcp', ...more }, standard);
  if ('problem' in rules) throw new Error(rules.problem);
  return rules;
};
const tool = (name: string, readOnlyHint: boolean | null = null) => ({
  name,
  annotations: readOnlyHint === null ? null : { readOnlyHint },
});
const READS = tool('reads', true);
const WRITES = tool('writes', false);
const UNANNOTATED = tool('unannotated');

describe('readMcpRules', () => {
  it.each([
    [undefined, ['reads', 'writes', 'unannotated']],
    [['writes'], ['writes']],
    [{ tool_names: ['reads', 'other'] }, ['reads']],
    [{ read_only: true }, ['reads']],
    [{ tool_names: ['writes'], read_only: true }, []],
  ])('filters tools by allowed_tools: %j', (allowed_tools, expected) => {
    const { allowed } = read(allowed_tools === undefined ? {} : { allowed_tools });
    const left = [READS, WRITES, UNANNOTATED].filter((one) => allowed === null || isAmong(allowed, one));
    expect(left.map(({ name }) => name)).toEqual(expected);
  });

  it.each([
    [undefined, 'always', ['reads', 'writes', 'unannotated']],
    [undefined, 'never', []],
    ['always', 'never', ['reads', 'writes', 'unannotated']],
    ['never', 'always', []],
    [{ never: { tool_names: ['writes'] } }, 'always', ['reads', 'unannotated']],
    [{ never: { read_only: true } }, 'always', ['writes', 'unannotated']],
    [{ always: { tool_names: ['writes'] } }, 'never', ['writes']],
    [{ always: { read_only: false } }, 'never', ['writes', 'unannotated']],
    [
      { always: { tool_names: ['reads'] }, never: { tool_names: ['reads'] } },
      'always',
      ['writes', 'unannotated'],
    ],
  ] as const)('reads require_approval %j with the default %s', (require_approval, otherwise, expected) => {
    const given = require_approval === undefined ? {} : { require_approval: require_approval as never };
    const { approval } = read(given, otherwise);
    const needing = [READS, WRITES, UNANNOTATED].filter((one) => needsApproval(approval, one));
    expect(needing.map(({ name }) => name)).toEqual(expected);
    expect(mayNeedApproval(approval)).toBe(expected.length > 0);
  });

  it.each([
    { allowed_tools: 'add' },
    { allowed_tools: [1] },
    { allowed_tools: { tool_names: 'add' } },
    { allowed_tools: { read_only: false } },
    { require_approval: 'sometimes' },
    { require_approval: { always: 5 } },
    { require_approval: { always: { read_only: true } } },
  ])('rejects %j', (more) => {
    expect(readMcpRules({ type: 'mcp', ...more }, 'always')).toEqual({ problem: expect.any(String) });
  });
});
