import { describe, expect, it } from 'vitest';

import { functionTool } from '../../../test/support/turn-request.ts';
import { itemFacts } from './item-facts.ts';
import type { Item } from './item.ts';

const user: Item = { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hi' }] };
const NOTHING = { hasCacheBreakpoint: false, hasCallFields: false, hasFile: false, loadedTools: [] };

describe('itemFacts', () => {
  it('says what the items of a conversation hold', () => {
    expect([itemFacts([]), itemFacts([user])]).toEqual([NOTHING, NOTHING]);
    const tool = functionTool('f');
    const items = [
      user,
      { ...user, parts: [{ kind: 'text', text: 'x', cacheBreakpoint: {} }, { kind: 'file' }] },
      { kind: 'tool-call', tool: 'function', callId: 'c', name: 'f', input: '', more: {} },
      { kind: 'loaded-tools', tools: [tool] },
    ] as unknown as readonly Item[];
    expect(itemFacts(items)).toEqual({
      hasCacheBreakpoint: true,
      hasCallFields: true,
      hasFile: true,
      loadedTools: [tool],
    });
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
