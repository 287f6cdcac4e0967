import { describe, expect, it } from 'vitest';

import { failure } from '../canonical/failure/failure.ts';
import type { TurnEnding, TurnSummary } from './observer.ts';
import { requestEnd, turnTotal, type RequestNotes } from './request-end.ts';

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

describe('requestEnd', () => {
  const request = {
    requestId: 'r',
    method: 'POST',
    route: '/v1/responses',
    startedAt: 0,
    backgroundId: null,
  };
  const turn = (ending: TurnEnding) => ({ turn: { ending, usage: null, firstEventMs: 3, durationMs: 4 } });
  const lost = failure('worker_lost');
  const refused = failure('invalid_api_key');
  const completed: TurnEnding = { kind: 'ended', outcome: { kind: 'completed' } };

  it('has a value for everything that was never known', () => {
    const { spans, ignored, ...rest } = requestEnd(request, {}, 7);
    expect([spans, ignored]).toEqual([{ spans: [], dropped: 0 }, []]);
    expect(rest).toMatchObject({ ...request, durationMs: 7, status: 0, result: 'answered', outcome: null });
    expect(Object.values(rest)).not.toContain(undefined);
  });

  it.each<[string, RequestNotes, object]>([
    ['is answered', { status: 200, ...turn(completed) }, { result: 'answered', outcome: 'completed' }],
    [
      'is rejected',
      { status: 401, failure: refused },
      { result: 'failed', outcome: null, failure: refused, errorSource: 'key' },
    ],
    [
      'fails inside its stream',
      { status: 200, ...turn({ kind: 'ended', outcome: { kind: 'failed', failure: lost } }) },
      { result: 'failed', outcome: 'failed', failure: lost, errorSource: 'server' },
    ],
    [
      'throws',
      { status: 200, ...turn({ kind: 'thrown', failure: lost }) },
      { result: 'failed', outcome: 'failed', failure: lost, errorSource: 'server' },
    ],
    [
      'is cut off by this server',
      { status: 200, failure: lost, ...turn({ kind: 'abandoned' }) },
      { result: 'failed', outcome: 'failed', failure: lost },
    ],
    [
      'is left by its client',
      { status: 200, ...turn({ kind: 'abandoned' }) },
      { result: 'cancelled', outcome: 'abandoned', failure: null, errorSource: null },
    ],
    ['is left before its turn', { status: 499 }, { result: 'cancelled', outcome: null }],
    ['only starts a background response', { status: 200 }, { result: 'answered', outcome: null }],
  ])('of a request that %s', (_, notes, expected) => {
    expect(requestEnd(request, notes, 7)).toMatchObject(expected);
  });

  it('of a background response without a turn was cancelled while it waited', () => {
    expect(requestEnd({ ...request, backgroundId: 'resp_1' }, { status: 200 }, 7).result).toBe('cancelled');
  });
});
