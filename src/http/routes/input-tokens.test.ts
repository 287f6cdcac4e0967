import { expect, it } from 'vitest';

import { failureOf } from '../../canonical/failure/failure.ts';
import { createCountLine } from './input-tokens.ts';

const never = new AbortController().signal;

it('one key that counts long texts does not hold up another', async () => {
  const refused: string[] = [];
  const line = createCountLine({ clock: { now: () => 0 }, onRefused: (why) => refused.push(why) });
  const order: string[] = [];
  const enter = async (key: string, name: string, signal = never) => {
    const permit = await line.enter(key, 1, signal);
    order.push(name);
    return permit;
  };
  const [first] = await Promise.all([enter('ann', 'first'), enter('ann', 'second')]);
  const client = new AbortController();
  const third = enter('ann', 'third', client.signal);
  const word = await enter('bob', 'a word');
  expect(order).toEqual(['first', 'second', 'a word']);
  word.leave();
  first.leave();
  await third;
  expect([order, refused]).toEqual([['first', 'second', 'a word', 'third'], []]);
});

it('limits how many requests of a key wait', async () => {
  const refused: string[] = [];
  const line = createCountLine({ clock: { now: () => 0 }, onRefused: (why) => refused.push(why) });
  const client = new AbortController();
  const waiting = Array.from({ length: 203 }, () =>
    line.enter('ann', 1, client.signal).then(
      () => 'in',
      (error: unknown) => (client.signal.aborted ? 'left' : failureOf(error).code),
    ),
  );
  expect(await waiting.at(-1)).toBe('server_overloaded');
  client.abort();
  const outcomes = await Promise.all(waiting);
  expect([outcomes.filter((one) => one === 'in').length, refused]).toEqual([2, ['full']]);
});
