import { describe, expect, it } from 'vitest';

import { functionTool } from '../../../test/support/turn-request.ts';
import { itemFacts, findPairingProblem } from './item-facts.ts';
import type { Item } from './item.ts';

describe('itemFacts', () => {
  const user: Item = { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hi' }] };
  const NOTHING = {
    hasId: false,
    hasCacheBreakpoint: false,
    hasCallFields: false,
    hasFile: false,
    hasImageDetail: false,
    hasReasoning: false,
    hasCall: false,
    hasCustomCall: false,
    hasNamespace: false,
    hasRaw: false,
    hasLoadedTools: false,
    loadedTools: [],
    images: 0,
  };
  const call = { kind: 'tool-call', tool: 'function', callId: 'c', name: 'f', input: '' } as const;
  const output = { kind: 'tool-output', tool: 'function', callId: 'c', output: 'x' } as const;
  const image = { kind: 'image', url: 'data:' } as const;

  it('says what the items of a conversation hold', () => {
    const tool = functionTool('f');
    const facts: readonly (readonly [Item, Partial<ReturnType<typeof itemFacts>>])[] = [
      [user, {}],
      [{ kind: 'compaction', encryptedContent: 'e' }, {}],
      [{ ...user, id: 'm' }, { hasId: true }],
      [{ ...user, parts: [{ kind: 'text', text: 'x', cacheBreakpoint: {} }] }, { hasCacheBreakpoint: true }],
      [{ ...user, parts: [{ kind: 'file', raw: { type: 'input_file' } }] }, { hasFile: true }],
      [{ ...user, parts: [image, { ...image, detail: 'auto' }] }, { images: 2 }],
      [
        { ...user, parts: [{ kind: 'file', raw: { type: 'input_image' } }] },
        { hasFile: true, images: 1 },
      ],
      [
        { ...user, parts: [{ ...image, detail: 'low' }] },
        { hasImageDetail: true, images: 1 },
      ],
      [{ kind: 'reasoning', summary: [] }, { hasReasoning: true }],
      [call, { hasId: true, hasCall: true }],
      [
        { ...call, more: {} },
        { hasId: true, hasCall: true, hasCallFields: true },
      ],
      [
        { ...call, tool: 'custom' },
        { hasId: true, hasCall: true, hasCustomCall: true },
      ],
      [
        { ...call, namespace: 'n' },
        { hasId: true, hasCall: true, hasNamespace: true },
      ],
      [output, { hasId: true }],
      [
        { ...output, more: {} },
        { hasId: true, hasCallFields: true },
      ],
      [
        { ...output, tool: 'custom' },
        { hasId: true, hasCustomCall: true },
      ],
      [
        { ...output, output: [{ ...image, detail: 'high' }] },
        { hasId: true, hasImageDetail: true, images: 1 },
      ],
      [
        { kind: 'hosted-call', raw: { type: 'web_search_call' } },
        { hasId: true, hasRaw: true },
      ],
      [
        { kind: 'opaque', raw: { type: 'telepathy' } },
        { hasId: true, hasRaw: true },
      ],
      [
        { kind: 'loaded-tools', raw: { type: 'additional_tools' }, tools: [tool] },
        { hasId: true, hasRaw: true, hasLoadedTools: true, loadedTools: [tool] },
      ],
    ];
    for (const [item, has] of facts) expect(itemFacts([item])).toEqual({ ...NOTHING, ...has });
    const all = facts.map(([item]) => item);
    const images = facts.reduce((sum, [, has]) => sum + (has.images ?? 0), 0);
    expect(itemFacts(all)).toEqual({ ...Object.assign({}, NOTHING, ...facts.map(([, has]) => has)), images });
    expect(itemFacts([])).toEqual(NOTHING);
  });

  it('walks a conversation once', () => {
    let walks = 0;
    const items: readonly Item[] = new Proxy([user], {
      get(target, name) {
        if (name === Symbol.iterator) walks += 1;
        return Reflect.get(target, name) as unknown;
      },
    });
    expect(itemFacts(items)).toBe(itemFacts(items));
    expect(walks).toBe(1);
  });
});

describe('findPairingProblem', () => {
  const call = (callId: string): Item => ({
    kind: 'tool-call',
    tool: 'function',
    callId,
    name: 'f',
    input: '{}',
  });
  const output = (callId: string): Item => ({ kind: 'tool-output', tool: 'function', callId, output: '1' });
  const customCall = (callId: string): Item => ({
    kind: 'tool-call',
    tool: 'custom',
    callId,
    name: 'f',
    input: '',
  });
  const customOutput = (callId: string): Item => ({
    kind: 'tool-output',
    tool: 'custom',
    callId,
    output: '1',
  });
  const user: Item = { kind: 'message', role: 'user', parts: [] };

  it.each([
    ['nothing', []],
    ['no calls', [user]],
    ['a pair', [user, call('a'), output('a')]],
    ['something in between', [call('a'), user, output('a')]],
    ['parallel calls with their outputs in any order', [call('a'), call('b'), output('b'), output('a')]],
    ['custom tools', [customCall('a'), customOutput('a')]],
    ['an id that comes again in a later round', [call('a'), output('a'), customCall('a'), customOutput('a')]],
  ])('%s: fine', (_, items) => {
    expect(findPairingProblem(items)).toBeNull();
  });

  it.each([
    ['call-without-output', 1, [user, call('a')]],
    ['call-without-output', 0, [call('a'), call('b'), output('b')]],
    ['call-without-output', 0, [customCall('a')]],
    ['output-without-call', 1, [user, output('a')]],
    ['output-without-call', 0, [output('a'), call('a')]],
    ['output-without-call', 0, [customOutput('a')]],
    ['duplicate-call', 1, [call('a'), call('a'), output('a')]],
    ['call-without-output', 2, [call('a'), output('a'), customCall('a')]],
    ['output-without-call', 1, [call('a'), customOutput('a')]],
    ['output-without-call', 1, [customCall('a'), output('a'), output('a')]],
    ['duplicate-output', 2, [call('a'), output('a'), output('a')]],
  ] as const)('%s at %i', (kind, index, items) => {
    expect(findPairingProblem(items)).toEqual({ kind, index, callId: 'a' });
  });
});
