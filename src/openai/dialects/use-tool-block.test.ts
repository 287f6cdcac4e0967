import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { ToolCall } from '../../canonical/request/item.ts';
import { readUseTools } from '../../../test/support/use-tool-grammar.ts';
import { readBlock, MAX_ARGUMENTS_CHARS, writeBlock } from './use-tool-block.ts';

const call = (input: string, different: Partial<ToolCall> = {}): ToolCall => ({
  kind: 'tool-call',
  tool: 'function',
  callId: 'c',
  name: 'localSearch',
  input,
  ...different,
});

const written = (input: unknown): string => {
  const result = writeBlock(call(JSON.stringify(input)));
  return 'block' in result ? result.block : `none: ${result.reason}`;
};

describe('a <use_tool> block', () => {
  it('can contain JSON that is nested too deeply for JSON.stringify', () => {
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
    expect(readBlock(`<name>f</name><a>${deep}</a>`)).toEqual({ name: 'f', input: `{"a":${deep}}` });
  });

  it('has one element per parameter, lists as JSON, and no escaping', () => {
    expect(
      written({
        query: 'a & "b" < c',
        salientTerms: ['x', '</y>'],
        timeRange: { from: 1 },
        n: 3,
        deep: true,
      }),
    ).toBe(
      String.raw`<use_tool>
<name>localSearch</name>
<query>a & "b" < c</query>
<salientTerms>["x","\u003c/y>"]</salientTerms>
<timeRange>{"from":1}</timeRange>
<n>3</n>
<deep>true</deep>
</use_tool>`,
    );
    expect(written({})).toBe('<use_tool>\n<name>localSearch</name>\n</use_tool>');
    expect(writeBlock(call(''))).toEqual({ block: written({}) });
    expect(written({ note: '[[A link]]' })).toContain('<note>[[A link]]</note>');
  });

  it.each<[string, string]>([
    ['text that is JSON', '["a"]'],
    ['text that ends its element', 'a</q> b'],
    ['text that ends the block', 'x</use_tool>'],
    ['text with tags', '<item>a</item>'],
    ['spaces at an end', 'a '],
    ['a line break at the beginning', '\na'],
  ])('is not written for %s', (_, value) => {
    expect(written({ q: value })).toBe('none: value');
  });

  it('is not written for values that no element can represent', () => {
    expect(written({ q: null })).toBe('none: value');
    const names = ['name', 'use_tool', '__proto__', 'a b', '1', 'x>', ''];
    expect(names.filter((key) => 'block' in writeBlock(call(`{${JSON.stringify(key)}:"v"}`)))).toEqual([]);
    expect(writeBlock(call('{"a b":"v"}'))).toEqual({ reason: 'name' });
    expect(written([])).toBe('none: arguments');
    expect(writeBlock(call('{"a"'))).toEqual({ reason: 'arguments' });
    expect(writeBlock(call('{}', { tool: 'custom' }))).toEqual({ reason: 'kind' });
    expect(writeBlock(call('{}', { namespace: 'n' }))).toEqual({ reason: 'kind' });
    expect(writeBlock(call('{}', { name: 'a b' }))).toEqual({ reason: 'name' });
    expect(writeBlock(call(' '.repeat(MAX_ARGUMENTS_CHARS + 1)))).toEqual({ reason: 'too_long' });
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
    expect(writeBlock(call(`{"a":${deep}}`))).toEqual({ reason: 'value' });
  });

  /** Fragments for edge cases of the format. */
  const edge = fc.constantFrom(
    '<',
    '>',
    '</',
    'q',
    '[',
    ']',
    '{',
    '}',
    ' ',
    '\n',
    '"',
    '<item>',
    '</item>',
    '1',
    '&lt;',
    '$',
  );
  const text = fc.oneof(
    fc.string(),
    fc.array(edge, { maxLength: 8 }).map((parts) => parts.join('')),
  );
  const key = fc.oneof(
    fc.constantFrom('query', 'q', 'item', 'name', 'a.b', '_x-1', '__proto__'),
    fc.string({ maxLength: 4 }),
  );
  const value = fc.oneof(
    { weight: 3, arbitrary: text },
    fc.array(text, { maxLength: 3 }),
    fc.dictionary(text, text, { maxKeys: 3 }),
    fc.jsonValue({ maxDepth: 3 }),
  );

  it('is parsed as the call that it was written for', () => {
    let accepted = 0;
    fc.assert(
      fc.property(fc.array(fc.tuple(key, value), { maxLength: 4 }), text, text, (pairs, before, after) => {
        const input = `{${pairs.map(([name, one]) => `${JSON.stringify(name)}:${JSON.stringify(one)}`).join(',')}}`;
        const result = writeBlock(call(input));
        if (!('block' in result)) return;
        accepted += 1;
        fc.pre(!before.includes('<use_tool>') && !after.includes('<use_tool>'));
        const args = Object.entries(JSON.parse(input) as Record<string, unknown>).map(([name, one]) => [
          name,
          typeof one === 'number' || typeof one === 'boolean' ? String(one) : one,
        ]);
        expect(readUseTools(`${before}\n${result.block}\n${after}`)).toEqual([
          { name: 'localSearch', args: Object.fromEntries(args) },
        ]);
      }),
      { numRuns: 2_000 },
    );
    expect(accepted).toBeGreaterThan(300);
  });
});
