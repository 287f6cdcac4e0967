import { describe, expect, it, test } from 'vitest';

import { Recent, forgetOldest, keepAnswer } from './recent.ts';

const at = (now: number) => ({ now: () => now });

describe('Recent', () => {
  it('returns values until they expire', () => {
    let now = 0;
    const recent = new Recent<string>(10, 100, { now: () => now });
    recent.set('a', 'x');
    now = 99;
    expect(recent.get('a')).toBe('x');
    now = 100;
    expect(recent.get('a')).toBeUndefined();
  });

  it('drops the oldest entry above the limit; setting a key again renews it', () => {
    const recent = new Recent<number>(2, 100, at(0));
    recent.set('a', 1);
    recent.set('b', 2);
    recent.set('a', 3);
    recent.set('c', 4);
    expect(['a', 'b', 'c'].map((key) => recent.get(key))).toEqual([3, undefined, 4]);
  });
});

describe('forgetOldest', () => {
  it('drops the oldest entry above the limit', () => {
    const kept = new Map([
      ['a', 1],
      ['b', 2],
    ]);
    forgetOldest(kept, 2);
    expect([...kept.keys()]).toEqual(['a', 'b']);
    kept.set('c', 3);
    forgetOldest(kept, 2);
    expect([...kept.keys()]).toEqual(['b', 'c']);
  });

  it('accepts any key, and sets', () => {
    const kept = new Set([undefined, '', 0]);
    forgetOldest(kept, 2);
    expect([...kept]).toEqual(['', 0]);
  });
});

describe('keepAnswer', () => {
  const setUp = (answers: readonly (() => Promise<string>)[]) => {
    let now = 0;
    let asked = 0;
    const ask = keepAnswer(
      async () => {
        asked += 1;
        return (answers[asked - 1] ?? (async () => `answer ${asked}`))();
      },
      { clock: { now: () => now }, keepMs: () => 10, keepFailureMs: 5 },
    );
    return {
      ask,
      asked: () => asked,
      pass(ms: number) {
        now += ms;
      },
    };
  };

  test('keeps an answer for a while, then calls again', async () => {
    const { ask, asked, pass } = setUp([]);
    expect([await ask(), await ask()]).toEqual(['answer 1', 'answer 1']);
    pass(9);
    expect(await ask()).toBe('answer 1');
    pass(1);
    expect([await ask(), asked()]).toEqual(['answer 2', 2]);
  });

  test('shares one pending call', async () => {
    const first = Promise.withResolvers<string>();
    const { ask, asked } = setUp([() => first.promise]);
    const all = Promise.all([ask(), ask(), ask()]);
    first.resolve('the answer');
    expect([await all, asked()]).toEqual([['the answer', 'the answer', 'the answer'], 1]);
  });

  test('keeps a failure for a while', async () => {
    const { ask, asked, pass } = setUp([() => Promise.reject(new Error('no'))]);
    await expect(Promise.all([ask(), ask()])).rejects.toThrow('no');
    pass(4);
    await expect(ask()).rejects.toThrow('no');
    expect(asked()).toBe(1);
    pass(1);
    expect(await ask()).toBe('answer 2');
  });
});
