import { expect, test } from 'vitest';

import { keepAnswer } from './keep-answer.ts';

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
