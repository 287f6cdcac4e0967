import { afterAll, describe, expect, it } from 'vitest';

import { countTokens, encodingOf, textHead } from './encoding.ts';
import { createThreadedTokenizer } from './threaded-tokenizer.ts';

const guesses: string[] = [];
/** However busy the machine is. */
const times = { timeoutMs: 40_000, waitMs: 40_000 };
const tokenizer = createThreadedTokenizer({ times, onGuess: (reason) => void guesses.push(reason) });
afterAll(() => tokenizer.close());

describe('createThreadedTokenizer', () => {
  it('returns the same results as without a thread', async () => {
    const text = 'Hello world, 한국어 😀 \uD83D';
    const encoding = await encodingOf('gpt-5.5');
    tokenizer.warmUp();
    expect([await tokenizer.count(text), await tokenizer.head(text, 4)]).toEqual([
      countTokens(text, encoding),
      textHead(text, 4, encoding),
    ]);
    expect([
      await tokenizer.textOf([13225, 2375], { model: 'gpt-5.5', caller: 'a' }),
      await tokenizer.textOf([9906, 1917], { model: 'gpt-4', caller: 'a' }),
      await tokenizer.textOf([-1], { model: 'gpt-5.5', caller: 'a' }),
    ]).toEqual(['Hello world', 'Hello world', null]);
    expect(guesses).toEqual([]);
  });

  it('remembers what a caller had counted, also when the thread does not answer', async () => {
    const own = createThreadedTokenizer({ times, onGuess: (reason) => void guesses.push(reason) });
    const count = (texts: readonly string[], caller: string) =>
      own.countTexts(texts, { model: 'gpt-5.5', caller });
    const texts = ['Hello', ' world, wide'];
    const tokens = await count(texts, 'a');
    await own.close();
    expect(await count(texts, 'a')).toBe(tokens);
    expect(guesses).toEqual([]);
    const estimate = 2 + 3;
    expect(await count(texts, 'b')).toBe(estimate);
    expect(await count(['Hello ', 'world, wide'], 'a')).toBe(estimate);
    expect(guesses.splice(0)).toEqual(['broken', 'broken']);
  });

  it('estimates if the thread does not answer', async () => {
    const closed = createThreadedTokenizer({ onGuess: (reason) => void guesses.push(reason) });
    await closed.close();
    expect([await closed.count('twelve chars'), await closed.head('twelve chars', 2)]).toEqual([
      3,
      'twelve c',
    ]);
    expect(guesses).toEqual(['broken', 'broken']);
    await expect(closed.textOf([1], { model: 'gpt-5.5', caller: 'a' })).rejects.toMatchObject({
      failure: { kind: 'server_overloaded' },
    });
  });
});
