import { describe, expect, it } from 'vitest';

import type { Produced } from '../../canonical/request/item.ts';
import { RecentItems } from './referred-items.ts';

const HOUR_MS = 60 * 60_000;
const idOf = (nth: number): string => `msg_${String(nth).padStart(4, '0')}ab12cd34ef56ab78`;

const message = (id: string, text = 'hi'): Produced => ({
  kind: 'message',
  id,
  role: 'assistant',
  parts: [{ kind: 'text', text }],
});

const itemsOf = (maxBytes = 1_000_000) => {
  let now = 0;
  let bytes = 0;
  const recalled: number[] = [];
  const items = new RecentItems({
    maxBytes,
    maxAgeMs: HOUR_MS,
    clock: { now: () => now },
    onChange: (all) => (bytes = all),
  });
  return {
    of: (caller: string) => items.of(caller, (_, size) => recalled.push(size)),
    pass: (ms: number) => (now += ms),
    bytes: () => bytes,
    recalled,
  };
};

describe('RecentItems', () => {
  it('finds items by id for their own caller only, and counts them', () => {
    const { of, recalled, bytes } = itemsOf();
    of('a').remember(message(idOf(1)));
    expect([of('a').recall(idOf(1)), of('b').recall(idOf(1)), of('a').recall(idOf(2))]).toEqual([
      message(idOf(1)),
      null,
      null,
    ]);
    expect(recalled).toEqual([bytes()]);
  });

  it('skips ids that a backend reuses in every conversation', () => {
    const { of, bytes } = itemsOf();
    of('a').remember(message('msg_1'));
    expect([of('a').recall('msg_1'), bytes()]).toEqual([null, 0]);
  });

  it('drops items an hour after they were written', () => {
    const { of, pass, bytes } = itemsOf();
    of('a').remember(message(idOf(1)));
    pass(HOUR_MS - 1);
    expect(of('a').recall(idOf(1))).not.toBeNull();
    pass(1);
    expect(of('a').recall(idOf(1))).toBeNull();
    of('a').remember(message('msg_1'));
    of('a').remember(message(idOf(2)));
    pass(HOUR_MS);
    of('b').remember(message(idOf(3), ''));
    const only = bytes();
    expect(only).toBeGreaterThan(0);
    expect(only).toBeLessThan(1_000);
  });

  it('forgets items', () => {
    const { of, bytes } = itemsOf();
    of('a').remember(message(idOf(1)));
    of('b').forget(idOf(1));
    expect(of('a').recall(idOf(1))).not.toBeNull();
    of('a').forget(idOf(1));
    expect([of('a').recall(idOf(1)), bytes()]).toEqual([null, 0]);
  });

  it('stays within its limit; a caller with many items loses its own oldest', () => {
    const { of, bytes } = itemsOf(20_000);
    of('quiet').remember(message(idOf(0), 'x'.repeat(1_000)));
    for (let nth = 1; nth <= 50; nth += 1) {
      of('loud').remember(message(idOf(nth), 'x'.repeat(1_000)));
      expect(bytes()).toBeLessThanOrEqual(20_000);
    }
    expect([of('quiet').recall(idOf(0)), of('loud').recall(idOf(1)), of('loud').recall(idOf(50))]).toEqual([
      message(idOf(0), 'x'.repeat(1_000)),
      null,
      message(idOf(50), 'x'.repeat(1_000)),
    ]);
  });

  it('does not evict items for one larger than the limit, and keeps none with a limit of 0', () => {
    const { of } = itemsOf(20_000);
    of('a').remember(message(idOf(1)));
    of('a').remember(message(idOf(2), 'x'.repeat(30_000)));
    expect([of('a').recall(idOf(1)), of('a').recall(idOf(2))]).toEqual([message(idOf(1)), null]);
    const none = itemsOf(0);
    none.of('a').remember(message(idOf(1)));
    expect([none.of('a').recall(idOf(1)), none.bytes()]).toEqual([null, 0]);
  });

  it('accepts deeply nested items', () => {
    const { of, bytes } = itemsOf(100_000_000);
    let deep: unknown[] = [];
    for (let level = 0; level < 200_000; level += 1) deep = [deep];
    const raw = { type: 'something_new', deep } as never;
    of('a').remember({ kind: 'opaque', id: idOf(1), raw });
    expect(bytes()).toBeGreaterThan(200_000);
  });
});
