import { describe, expect, it } from 'vitest';

import { UnreadTotal } from './unread-total.ts';

const MB = 1024 * 1024;

const totalOf = (maxBytes: number) => {
  const told: number[] = [];
  const total = new UnreadTotal({ maxBytes, onChange: (bytes) => told.push(bytes / MB) });
  const givenUp: string[] = [];
  const open = (name: string, key = 'ann') => {
    let bytes = 0;
    const account = total.account(key, () => {
      givenUp.push(name);
      add(-bytes);
    });
    const add = (more: number): void => {
      account.add(more);
      bytes += more;
    };
    return add;
  };
  return { open, told, givenUp };
};

describe('UnreadTotal', () => {
  it('gives up the slowest reader, even if another one exceeds the limit', () => {
    const { open, givenUp, told } = totalOf(10 * MB);
    const [slow, slower, fast] = [open('slow'), open('slower'), open('fast')];
    slow(4 * MB);
    // Too much; the next one hears of it.
    slower(7 * MB);
    expect(givenUp).toEqual([]);
    fast(MB);
    expect(givenUp).toEqual(['slower']);
    slow(6 * MB);
    slow(MB);
    expect(givenUp).toEqual(['slower', 'slow']);
    slow(-MB);
    fast(-MB);
    expect(told).toEqual([4, 11, 4, 5, 11, 1, 2, 1, 0]);
  });

  it('gives up a reader of the key with the most, not the slowest of all', () => {
    const { open, givenUp } = totalOf(10 * MB);
    const own = [1, 2, 3, 4].map((number) => open(`ann ${number}`));
    const other = open('bob', 'bob');
    other(3 * MB);
    for (const add of own) add(2 * MB);
    other(MB);
    expect(givenUp).toEqual(['ann 1']);
  });

  it('keeps readers that read', () => {
    const { open, givenUp } = totalOf(10 * MB);
    const add = open('reader');
    for (let round = 0; round < 100; round += 1) {
      add(9 * MB);
      add(-9 * MB);
    }
    expect(givenUp).toEqual([]);
  });
});
