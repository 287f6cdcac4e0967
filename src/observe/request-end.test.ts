import { expect, it } from 'vitest';

import { failure } from '../canonical/failure/failure.ts';
import type { TurnSummary } from './observer.ts';
import { turnTotal } from './request-end.ts';

const usage = (tokens: number): TurnSummary['usage'] => ({
  inputTokens: tokens,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: tokens,
  reasoningTokens: 0,
  totalTokens: 2 * tokens,
});

it('sums the tokens of all turns, and reports the worst ending', () => {
  const noted: TurnSummary[] = [];
  const observer = turnTotal((turn) => noted.push(turn));
  const good: TurnSummary = {
    ending: { kind: 'ended', outcome: { kind: 'completed' } },
    usage: usage(5),
    firstEventMs: 20,
    durationMs: 100,
  };
  const failed: TurnSummary = {
    ending: { kind: 'ended', outcome: { kind: 'failed', failure: failure('upstream_error') } },
    usage: usage(2),
    firstEventMs: 10,
    durationMs: 30,
  };
  const gone: TurnSummary = {
    ending: { kind: 'abandoned' },
    usage: null,
    firstEventMs: null,
    durationMs: 40,
  };
  for (const turn of [good, failed, gone]) observer.onEnd?.(turn);
  const total = { ending: failed.ending, usage: usage(7), firstEventMs: 10, durationMs: 100 };
  expect(noted).toEqual([good, total, total]);
});
