import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { isWrappedSummary, unwrapSummary, wrapSummary } from './wrapped-summary.ts';
import { readInput } from './input/input-items.ts';

const anyText = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constant('half a character: \ud83d'));

describe('a summary of this server', () => {
  it('is unchanged after wrapping and unwrapping', () => {
    fc.assert(
      fc.property(anyText, (summary) => {
        const wrapped = wrapSummary(summary);
        expect(wrapped).toMatch(/^[\w.-]+$/);
        expect(isWrappedSummary(wrapped)).toBe(true);
        expect(unwrapSummary(wrapped, 'input[0]')).toBe(summary);
      }),
    );
  });

  it.each(['compaction', 'compaction_summary', 'context_compaction'])('is read under the type %s', (type) => {
    const { items } = readInput([{ type, id: 'cmp_1', encrypted_content: wrapSummary('Tea.') }]);
    expect(items).toEqual([{ kind: 'compaction', summary: 'Tea.' }]);
  });

  it.each([
    ['compaction', { kind: 'compaction', id: 'cmp_1', encryptedContent: 'x' }],
    ['compaction_summary', { kind: 'compaction', id: 'cmp_1', encryptedContent: 'x' }],
    [
      'context_compaction',
      {
        kind: 'opaque',
        id: 'cmp_1',
        raw: { type: 'context_compaction', id: 'cmp_1', encrypted_content: 'x' },
      },
    ],
  ])("differs from a backend's own compaction: %s", (type, item) => {
    expect(readInput([{ type, id: 'cmp_1', encrypted_content: 'x' }]).items).toEqual([item]);
  });

  it.each([
    ['broken', 'v1.%%%'],
    ['of something else', `v1.${Buffer.from('{"summary":1}').toString('base64url')}`],
    ['of more than a text', `v1.${Buffer.from('{"summary":"Tea.","more":[[]]}').toString('base64url')}`],
    ['of another version', `v2.${Buffer.from('{"summary":"Tea."}').toString('base64url')}`],
    ['too long', wrapSummary('x'.repeat(10_485_761)).replace('codex-app-server-proxy.summary.', '')],
  ])('is rejected if it is %s', (_, payload) => {
    const encrypted_content = `codex-app-server-proxy.summary.${payload}`;
    expect(() => readInput([{ type: 'compaction', encrypted_content }])).toThrow(
      /input\[0\]\.encrypted_content/,
    );
  });
});
