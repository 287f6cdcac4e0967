import { describe, expect, it } from 'vitest';
import { failure } from '../canonical/failure/failure.ts';
import { toAccessLine } from './access-log.ts';
import type { TurnEnding, TurnSummary } from './observer.ts';
import { requestEnd, type RequestNotes } from './request-end.ts';

const request = {
  requestId: 'req_1',
  method: 'POST',
  route: '/v1/responses',
  startedAt: 0,
  backgroundId: null,
};

const lineOf = (notes: RequestNotes) =>
  toAccessLine(
    requestEnd(request, { status: 200, keyId: 'key_1', model: 'gpt-x', stream: true, ...notes }, 40),
  );

const turn = (ending: TurnEnding): TurnSummary => ({
  ending,
  usage: {
    inputTokens: 10,
    cachedInputTokens: 4,
    cacheWriteInputTokens: 0,
    outputTokens: 5,
    reasoningTokens: 2,
    totalTokens: 15,
  },
  firstEventMs: 12,
  durationMs: 39,
});

describe('toAccessLine', () => {
  it('has ids, times and counts of a turn', () => {
    expect(lineOf({ turn: turn({ kind: 'ended', outcome: { kind: 'tool-calls' } }) })).toEqual({
      requestId: 'req_1',
      method: 'POST',
      route: '/v1/responses',
      status: 200,
      model: 'gpt-x',
      stream: true,
      keyId: 'key_1',
      client: null,
      named: null,
      request: null,
      traceparent: null,
      copilotTraceId: null,
      intercept: null,
      firstEventMs: 12,
      durationMs: 40,
      outcome: 'tool-calls',
      inputTokens: 10,
      outputTokens: 5,
      errorCode: null,
    });
  });

  it('has null for missing facts', () => {
    const unknown = { ...request, requestId: 'req_2', method: 'GET', route: '*' };
    expect(toAccessLine(requestEnd(unknown, { status: 404, failure: failure('unknown_url') }, 1))).toEqual({
      requestId: 'req_2',
      method: 'GET',
      route: '*',
      status: 404,
      model: null,
      stream: null,
      keyId: null,
      client: null,
      named: null,
      request: null,
      traceparent: null,
      copilotTraceId: null,
      intercept: null,
      firstEventMs: null,
      durationMs: 1,
      outcome: null,
      inputTokens: null,
      outputTokens: null,
      errorCode: 'unknown_url',
    });
  });

  it.each<[string, TurnEnding, string, string | null]>([
    [
      'failed inside its stream',
      { kind: 'ended', outcome: { kind: 'failed', failure: failure('upstream_error', { code: 'odd' }) } },
      'failed',
      'odd',
    ],
    ['broke', { kind: 'thrown', failure: failure('worker_lost') }, 'failed', 'worker_lost'],
    ['was abandoned', { kind: 'abandoned' }, 'abandoned', null],
    [
      'was cut',
      { kind: 'ended', outcome: { kind: 'incomplete', reason: 'max_output_tokens' } },
      'incomplete',
      null,
    ],
  ])('reports that a turn %s', (_, ending, outcome, errorCode) => {
    const line = lineOf({ turn: turn(ending) });
    expect({ outcome: line.outcome, errorCode: line.errorCode }).toEqual({ outcome, errorCode });
  });

  it('reports a turn as failed that the proxy stopped because of an error', () => {
    const line = lineOf({ failure: failure('server_error'), turn: turn({ kind: 'abandoned' }) });
    expect([line.outcome, line.errorCode]).toEqual(['failed', 'server_error']);
  });
});
