import { describe, expect, it } from 'vitest';

import { failure } from '../../canonical/failure/failure.ts';
import type { FailureCode } from '../../canonical/failure/failure-catalogue.ts';
import type { TurnEnding } from '../../observe/observer.ts';
import { requestEnd, type RequestEnd, type RequestNotes } from '../../observe/request-end.ts';
import { countsOf, isCounted, NO_USAGE } from './usage-counts.ts';

const USAGE = {
  inputTokens: 100,
  cachedInputTokens: 60,
  cacheWriteInputTokens: 5,
  outputTokens: 20,
  reasoningTokens: 8,
  totalTokens: 120,
  images: { input: { tokens: 7, of: null }, output: { tokens: 9, of: null } },
};

const request = { requestId: 'r', method: 'POST', route: '/v1/responses', startedAt: 0 };

const endOf = (
  ending: TurnEnding | null,
  different: RequestNotes = {},
  backgroundId: string | null = null,
): RequestEnd =>
  requestEnd(
    { ...request, backgroundId },
    {
      status: 200,
      ...(ending === null ? {} : { turn: { ending, usage: null, firstEventMs: 50, durationMs: 900 } }),
      ...different,
    },
    1_000,
  );

const COMPLETED: TurnEnding = { kind: 'ended', outcome: { kind: 'completed' } };
const failed = (code: FailureCode): TurnEnding => ({
  kind: 'ended',
  outcome: { kind: 'failed', failure: failure(code) },
});

const rejected = (code: FailureCode): RequestEnd => {
  const rejection = failure(code);
  return endOf(null, { status: rejection.status, failure: rejection });
};

describe('countsOf', () => {
  it('counts the tokens of an answered request', () => {
    const turn = { ending: COMPLETED, usage: USAGE, firstEventMs: 50, durationMs: 900 };
    expect(countsOf(endOf(null, { turn }))).toEqual({
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
    ['a stream that failed', endOf(failed('upstream_error')), 'upstreamErrors'],
    ['a stream that met a limit', endOf(failed('rate_limit_exceeded')), 'limitErrors'],
    ['a stream that threw', endOf({ kind: 'thrown', failure: failure('server_error') }), 'serverErrors'],
    ['a client that left', endOf({ kind: 'abandoned' }), 'cancelled'],
    ['a background response that was cancelled while it waited', endOf(null, {}, 'resp_1'), 'cancelled'],
    ['a client that left before the turn', endOf(null, { status: 499 }), 'cancelled'],
    [
      'a bug while the answer was sent',
      endOf({ kind: 'abandoned' }, { failure: failure('server_error') }),
      'serverErrors',
    ],
  ] as const)('counts %s as an error', (_, end, kind) => {
    expect([countsOf(end), end.result]).toEqual([
      { ...NO_USAGE, requests: 1, [kind]: 1 },
      kind === 'cancelled' ? 'cancelled' : 'failed',
    ]);
  });

  it('does not count the request that started a background response', () => {
    expect(isCounted(endOf(null))).toBe(false);
    expect(isCounted(endOf(COMPLETED))).toBe(true);
    expect(isCounted(endOf(null, {}, 'resp_1'))).toBe(true);
    expect(isCounted(endOf(null, { status: 499 }))).toBe(true);
    expect(isCounted(rejected('server_error'))).toBe(true);
  });
});
