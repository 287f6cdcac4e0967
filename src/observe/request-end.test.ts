import { describe, expect, it } from 'vitest';

import { failure } from '../canonical/failure/failure.ts';
import type { TurnEnding, TurnSummary } from './observer.ts';
import { requestEnd, turnTotal, type RequestNotes, toAccessLine } from './request-end.ts';

describe('requestEnd', () => {
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
});

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
