import { describe, expect, it } from 'vitest';

import { fixedAmbient } from '../../../test/support/turn-events.ts';
import type { LocalResponse } from '../../turns/turn-state.ts';
import { ConnectionMemories } from './connection-memory.ts';

const response = (bytes: number): LocalResponse => ({ items: [], bytes, cacheKey: 'key' });

const open = (maxBytes = 10_000) => {
  let bytes = 0;
  const memories = new ConnectionMemories({
    maxBytes,
    clock: fixedAmbient().clock,
    onChange(now) {
      bytes = now;
    },
  });
  return { memories, bytes: () => bytes };
};

describe('the memory of a connection', () => {
  it('finds the responses of all its lanes, and of no other connection', () => {
    const { memories } = open();
    const [one, other] = [memories.open('ann'), memories.open('ann')];
    const kept = response(10);
    one.of('a').add('resp_1', kept);
    expect([one.of(null).find('resp_1'), other.of('a').find('resp_1')]).toEqual([kept, null]);
  });

  it('evicts a response only for its own lane', () => {
    const memory = open().memories.open('ann');
    memory.of('a').add('resp_1', response(10));
    memory.evict('resp_1', 'b');
    expect(memory.of('b').find('resp_1')).not.toBeNull();
    memory.evict('resp_1', 'a');
    expect(memory.of('a').find('resp_1')).toBeNull();
  });

  it('keeps the latest 64 responses', () => {
    const memory = open(1e9).memories.open('ann');
    for (let count = 0; count < 65; count += 1) memory.of(null).add(`resp_${count}`, response(1));
    expect([memory.of(null).find('resp_0'), memory.of(null).find('resp_1')]).toEqual([null, response(1)]);
  });

  it('shares its limit with others, the oldest response of the largest key goes first', () => {
    const { memories, bytes } = open(500);
    const [ann, bob] = [memories.open('ann'), memories.open('bob')];
    bob.of(null).add('resp_b', response(100));
    ann.of(null).add('resp_1', response(200));
    ann.of(null).add('resp_2', response(200));
    expect(bytes()).toBe(500);
    ann.of(null).add('resp_3', response(10));
    expect(['resp_1', 'resp_2', 'resp_3'].map((id) => ann.of(null).find(id) !== null)).toEqual([
      false,
      true,
      true,
    ]);
    expect(bob.of(null).find('resp_b')).not.toBeNull();
    ann.clear();
    bob.clear();
    expect(bytes()).toBe(0);
  });
});
