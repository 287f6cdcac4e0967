import { describe, expect, it } from 'vitest';

import { RecentKinds } from './recent-kinds.ts';

const MINUTE = 60_000;

const started = () => {
  const clock = { nowMs: 0, now: () => clock.nowMs };
  return { kinds: new RecentKinds(clock), clock };
};

/** So many requests at once, all of which have ended. */
const burst = (kinds: RecentKinds, slug: string, size: number): void => {
  for (let nth = 0; nth < size; nth += 1) kinds.began(slug);
  for (let nth = 0; nth < size; nth += 1) kinds.ended(slug);
};

describe('the number of requests that may come at once', () => {
  it('is one for a kind that is not known', () => {
    expect(started().kinds.wanted('a')).toBe(1);
  });

  it('is the most that ran at once, for each kind', () => {
    const { kinds } = started();
    burst(kinds, 'a', 3);
    burst(kinds, 'a', 2);
    kinds.began('b');
    kinds.ended('b');
    kinds.began('b');
    expect([kinds.wanted('a'), kinds.wanted('b')]).toEqual([3, 1]);
  });

  it('includes requests that still run', () => {
    const { kinds } = started();
    kinds.began('a');
    kinds.began('a');
    kinds.ended('a');
    kinds.began('a');
    kinds.began('a');
    expect(kinds.wanted('a')).toBe(3);
  });

  it('is that of the last minute', () => {
    const { kinds, clock } = started();
    burst(kinds, 'a', 3);
    clock.nowMs = MINUTE;
    burst(kinds, 'a', 1);
    expect(kinds.wanted('a')).toBe(3);
    clock.nowMs += 1;
    burst(kinds, 'a', 2);
    expect(kinds.wanted('a')).toBe(2);
  });

  it('is that of the requests that still run if none began in the last minute', () => {
    const { kinds, clock } = started();
    burst(kinds, 'a', 3);
    clock.nowMs = MINUTE;
    expect(kinds.wanted('a')).toBe(3);
    clock.nowMs += 1;
    expect(kinds.wanted('a')).toBe(1);
    for (let nth = 0; nth < 2; nth += 1) kinds.began('a');
    clock.nowMs = 3 * MINUTE;
    expect(kinds.wanted('a')).toBe(2);
  });

  it('remains for another minute if it is reached again', () => {
    const { kinds, clock } = started();
    burst(kinds, 'a', 3);
    clock.nowMs = MINUTE;
    burst(kinds, 'a', 3);
    clock.nowMs = 2 * MINUTE;
    burst(kinds, 'a', 1);
    expect(kinds.wanted('a')).toBe(3);
  });
});

describe('the kinds in use', () => {
  it('are those of the last 30 minutes', () => {
    const { kinds, clock } = started();
    expect([kinds.isInUse('a'), kinds.inUse()]).toEqual([false, []]);
    kinds.began('a');
    clock.nowMs = 30 * MINUTE - 1;
    expect([kinds.isInUse('a'), kinds.inUse()]).toEqual([true, ['a']]);
    kinds.began('b');
    clock.nowMs += 1;
    expect([kinds.isInUse('a'), kinds.isInUse('b'), kinds.inUse()]).toEqual([false, true, ['b']]);
    kinds.began('a');
    expect(kinds.inUse()).toEqual(['a', 'b']);
  });

  it('are at most four, the latest first', () => {
    const { kinds } = started();
    for (const slug of ['a', 'b', 'c', 'd', 'e', 'b']) kinds.began(slug);
    expect(kinds.inUse()).toEqual(['b', 'e', 'd', 'c']);
    expect(kinds.isInUse('a')).toBe(true);
  });

  it('are forgotten if there are very many, the first used first', () => {
    const { kinds } = started();
    const slugs = Array.from({ length: 256 }, (_, index) => `m${index}`);
    for (const slug of slugs) kinds.began(slug);
    kinds.began('m0');
    expect(slugs.filter((slug) => !kinds.isInUse(slug))).toEqual([]);
    kinds.began('one more');
    expect(slugs.filter((slug) => !kinds.isInUse(slug))).toEqual(['m1']);
    // Its request ends later.
    kinds.ended('m1');
    expect([kinds.isInUse('m1'), kinds.wanted('m1')]).toEqual([false, 1]);
  });
});
