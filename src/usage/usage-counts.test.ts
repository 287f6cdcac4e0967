import { describe, expect, it } from 'vitest';

import { failure } from '../canonical/failure/failure.ts';
import type { FailureCode } from '../canonical/failure/failure-catalogue.ts';
import type { AccessFacts } from '../observe/access-log.ts';
import type { TurnEnding } from '../observe/observer.ts';
import { countsOf, isAnswered, isCounted, NO_USAGE } from './usage-counts.ts';

const USAGE = {
  inputTokens: 100,
  cachedInputTokens: 60,
  cacheWriteInputTokens: 5,
  outputTokens: 20,
  reasoningTokens: 8,
  totalTokens: 120,
  images: { input: { tokens: 7, of: null }, output: { tokens: 9, of: null } },
};

const factsOf = (ending: TurnEnding | null, different: Partial<AccessFacts> = {}): AccessFacts => ({
  requestId: 'r',
  method: 'POST',
  route: '/v1/responses',
  status: 200,
  durationMs: 1_000,
  turn: ending === null ? null : { ending, usage: null, firstEventMs: 50, durationMs: 900 },
  ...different,
});

const COMPLETED: TurnEnding = { kind: 'ended', outcome: { kind: 'completed' } };
const failed = (code: FailureCode): TurnEnding => ({
  kind: 'ended',
  outcome: { kind: 'failed', failure: failure(code) },
});

const rejected = (code: FailureCode): AccessFacts => {
  const rejection = failure(code);
  return factsOf(null, { status: rejection.status, failure: rejection });
};

describe('countsOf', () => {
  it('counts the tokens of an answered request', () => {
    const turn = { ending: COMPLETED, usage: USAGE, firstEventMs: 50, durationMs: 900 };
    expect(countsOf(factsOf(null, { turn }))).toEqual({
      ...NO_USAGE,
      requests: 1,
      inputTokens: 100,
      cachedTokens: 60,
      cacheWriteTokens: 5,
      outputTokens: 20,
      reasoningTokens: 8,
      imageInputTokens: 7,
      imageOutputTokens: 9,
      durationMs: 1_000,
    });
  });

  it.each([
    ['a rejected body', rejected('invalid_value'), 'clientErrors'],
    ['a limit', rejected('rate_limit_exceeded'), 'limitErrors'],
    ['a refusal of the backend', rejected('upstream_forbidden'), 'upstreamErrors'],
    ['a backend that cannot be reached', rejected('upstream_unreachable'), 'upstreamErrors'],
    ['a full server', rejected('server_overloaded'), 'serverErrors'],
    ['a full backend', rejected('upstream_overloaded'), 'upstreamErrors'],
    ['a stream that failed', factsOf(failed('upstream_error')), 'upstreamErrors'],
    ['a stream that met a limit', factsOf(failed('rate_limit_exceeded')), 'limitErrors'],
    ['a stream that threw', factsOf({ kind: 'thrown', failure: failure('server_error') }), 'serverErrors'],
    ['a client that left', factsOf({ kind: 'abandoned' }), 'cancelled'],
    ['a background response that was cancelled while it waited', factsOf(null), 'cancelled'],
    ['a client that left before the turn', factsOf(null, { status: 499 }), 'cancelled'],
    [
      'a bug while the answer was sent',
      factsOf({ kind: 'abandoned' }, { failure: failure('server_error') }),
      'serverErrors',
    ],
  ] as const)('counts %s as an error', (_, facts, kind) => {
    expect([countsOf(facts), isAnswered(facts)]).toEqual([{ ...NO_USAGE, requests: 1, [kind]: 1 }, false]);
  });

  it('does not count the request that started a background response', () => {
    expect(isCounted(factsOf(null))).toBe(false);
    expect(isCounted(factsOf(COMPLETED))).toBe(true);
    expect(isCounted(factsOf(null, { status: 499 }))).toBe(true);
    expect(isCounted(rejected('server_error'))).toBe(true);
  });
});
