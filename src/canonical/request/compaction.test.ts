import { describe, expect, it } from 'vitest';

import { afterCompaction } from './compaction.ts';
import type { Item } from './item.ts';

const message = (role: 'user' | 'assistant', text: string): Item => ({
  kind: 'message',
  role,
  parts: [{ kind: 'text', text }],
});
const call = (callId: string): Item => ({
  kind: 'tool-call',
  tool: 'function',
  callId,
  name: 'f',
  input: '{}',
});
const output = (callId: string): Item => ({ kind: 'tool-output', tool: 'function', callId, output: '1' });
const compaction: Item = { kind: 'compaction', encryptedContent: 'x' };

describe('afterCompaction', () => {
  it('keeps what the client wrote, and what follows the last compaction', () => {
    const first = message('user', 'a');
    const second = message('user', 'b');
    const last = message('assistant', 'd');
    const items = [
      first,
      compaction,
      message('assistant', 'x'),
      second,
      call('1'),
      output('1'),
      compaction,
      last,
    ];
    expect(afterCompaction(items)).toEqual([first, second, compaction, last]);
  });

  it('keeps a call whose output is still to come', () => {
    const items = [message('user', 'a'), call('1'), output('1'), call('2'), compaction];
    expect(afterCompaction(items)).toEqual([message('user', 'a'), call('2'), compaction]);
  });

  it('changes nothing without a compaction, or if it is the first item', () => {
    const items = [message('user', 'a'), call('1'), output('1')];
    expect(afterCompaction(items)).toBe(items);
    const compacted = [compaction, ...items];
    expect(afterCompaction(compacted)).toBe(compacted);
  });
});
