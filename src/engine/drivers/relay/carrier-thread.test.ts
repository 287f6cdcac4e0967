import { describe, expect, it } from 'vitest';

import { COMPLETE } from '../../../../test/support/carriers.ts';
import type { Usage } from '../../../canonical/events/usage.ts';
import { freshThread, isReusable, type CarrierThread } from './carrier-thread.ts';

describe('a thread that carries turns', () => {
  it('belongs to no one at first', () => {
    expect(freshThread('thread-1', 'gpt-5.5')).toEqual({
      threadId: 'thread-1',
      slug: 'gpt-5.5',
      caller: null,
      turns: 0,
      answerBytes: 0,
    });
  });

  const after = (thread: Partial<CarrierThread>, usage: Partial<Usage> | null = {}): boolean =>
    isReusable(
      { ...freshThread('thread-1', 'gpt-5.5'), turns: 1, ...thread },
      {
        isComplete: true,
        usage: usage === null || COMPLETE.usage === null ? null : { ...COMPLETE.usage, ...usage },
      },
    );

  it.each<[string, Partial<CarrierThread>, Partial<Usage>]>([
    ['the first turn', {}, {}],
    ['15 turns', { turns: 15 }, {}],
    ['answers of almost 1 MB', { answerBytes: 1024 * 1024 - 1 }, {}],
    ['almost 10 million tokens', {}, { inputTokens: 9_999_990, outputTokens: 9, totalTokens: 9_999_999 }],
  ])('carries another one after %s', (_, thread, usage) => {
    expect(after(thread, usage)).toBe(true);
  });

  it.each<[string, Partial<CarrierThread>, Partial<Usage> | null]>([
    ['16 turns', { turns: 16 }, {}],
    ['answers of 1 MB', { answerBytes: 1024 * 1024 }, {}],
    ['unknown usage', {}, null],
    ['10 million input tokens', {}, { inputTokens: 10_000_000, outputTokens: 0 }],
    ['10 million output tokens', {}, { inputTokens: 0, outputTokens: 10_000_000 }],
    ['10 million tokens of both', {}, { inputTokens: 5_000_000, outputTokens: 5_000_000 }],
    ['10 million tokens in total', {}, { totalTokens: 10_000_000 }],
  ])('carries no other one after %s', (_, thread, usage) => {
    expect(after(thread, usage)).toBe(false);
  });
});
