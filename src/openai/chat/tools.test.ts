import { describe, expect, it } from 'vitest';

import type { Item } from '../../canonical/request/item.ts';
import { asCustomCalls } from './tools.ts';

const call = (tool: 'function' | 'custom', callId: string, name: string): Item => ({
  kind: 'tool-call',
  tool,
  callId,
  name,
  input: 'a patch',
});
const output = (tool: 'function' | 'custom', callId: string): Item => ({
  kind: 'tool-output',
  tool,
  callId,
  output: 'done',
});

describe('function calls that stand in for custom calls', () => {
  it('become custom again, with their outputs, if the tool is custom', () => {
    const items: readonly Item[] = [
      { ...call('function', 'c1', 'patch'), id: 'fc_1' },
      call('function', 'c2', 'read'),
      output('function', 'c2'),
      { ...output('function', 'c1'), id: 'fco_1' },
      // The id is reused for another tool.
      call('function', 'c1', 'read'),
      output('function', 'c1'),
      call('custom', 'c3', 'patch'),
      output('custom', 'c3'),
    ];
    expect(asCustomCalls(items, new Set(['patch']))).toEqual([
      call('custom', 'c1', 'patch'),
      items[1],
      items[2],
      output('custom', 'c1'),
      ...items.slice(4),
    ]);
  });

  it('are unchanged if no tool is sent that way', () => {
    const items = [call('function', 'c1', 'patch')];
    expect(asCustomCalls(items, new Set())).toBe(items);
  });
});
