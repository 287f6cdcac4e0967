import { describe, expect, it } from 'vitest';

import { failure } from '../../canonical/failure/failure.ts';
import { requestEnd, type RequestNotes } from '../../observe/request-end.ts';
import { recordOf, runningRecord } from './record.ts';

const request = {
  requestId: 'req_1',
  method: 'POST',
  route: '/v1/responses',
  startedAt: 5_000,
  backgroundId: null,
};

const NAMES = { id: 'rql_1', instance: 'a' };

const record = (notes: RequestNotes, backgroundId: string | null = null) =>
  recordOf(requestEnd({ ...request, backgroundId }, notes, 900), NAMES);

const EMPTY = {
  id: 'rql_1',
  requestId: 'req_1',
  responseId: null,
  instance: 'a',
  method: 'POST',
  route: '/v1/responses',
  startedAt: 5_000,
  durationMs: null,
  status: null,
  outcome: null,
  keyId: null,
  client: null,
  model: null,
  servedModel: null,
  isStream: null,
  isBackground: false,
  upstreamTransport: null,
  firstEventMs: null,
  firstDeltaMs: null,
  usage: null,
  ignored: [],
  retries: 0,
  error: null,
  size: null,
  named: null,
  traceparent: null,
  capture: null,
  replayOf: null,
  run: null,
};

const span = (name: 'first-delta' | 'model-request' | 'run', facts = {}, startMs = 0) => ({
  name,
  parent: null,
  startMs,
  endMs: startMs + 1,
  facts,
});

const USAGE = {
  inputTokens: 100,
  cachedInputTokens: 80,
  cacheWriteInputTokens: 0,
  outputTokens: 20,
  reasoningTokens: 5,
  totalTokens: 120,
};

describe('recordOf', () => {
  it('has little to say about a request that began', () => {
    expect(runningRecord(requestEnd(request, {}, 0), NAMES)).toEqual(EMPTY);
  });

  it('has everything about one that ended', () => {
    const notes: RequestNotes = {
      status: 200,
      keyId: 'key_1',
      model: 'm',
      servedModel: 'small',
      stream: true,
      client: { name: 'codex', source: 'header', reasons: [] },
      answerId: 'resp_1',
      request: { items: 1, tools: 2, images: 3, bytes: 4 },
      ignored: ['seed'],
      retries: 1,
      capture: 'file.jsonl',
      replayOf: 'rql_0',
      traceparent: '00-a-b-01',
      turn: {
        ending: { kind: 'ended', outcome: { kind: 'completed' } },
        usage: USAGE,
        firstEventMs: 100,
        durationMs: 900,
      },
      spans: {
        spans: [
          span('model-request', { transport: 'http', status: 503 }),
          span('model-request', { transport: 'websocket', status: 200, servedModel: 'm-2' }),
          span('run', { workspace: 'web', calls: 2, waits: true, end: 'waiting' }),
          span('first-delta', {}, 120.6),
        ],
        dropped: 0,
      },
    };
    expect(record(notes)).toEqual({
      ...EMPTY,
      responseId: 'resp_1',
      durationMs: 900,
      status: 200,
      outcome: 'completed',
      keyId: 'key_1',
      client: 'codex',
      model: 'm',
      servedModel: 'small',
      isStream: true,
      upstreamTransport: 'websocket',
      firstEventMs: 100,
      firstDeltaMs: 121,
      usage: { inputTokens: 100, cachedTokens: 80, outputTokens: 20, reasoningTokens: 5 },
      ignored: ['seed'],
      retries: 1,
      size: { items: 1, tools: 2, images: 3, bytes: 4 },
      traceparent: '00-a-b-01',
      capture: 'file.jsonl',
      replayOf: 'rql_0',
      run: { workspace: 'web', calls: 2, waits: true },
    });
  });

  it('says whose limit it was, and what the backend answered', () => {
    const failed = failure('rate_limit_exceeded', { message: 'x'.repeat(600) });
    const facts = {
      status: 429,
      failure: failed,
      spans: { spans: [span('model-request', { transport: 'http', status: 429 })], dropped: 0 },
    };
    expect(record(facts).error).toEqual({
      code: 'rate_limit_exceeded',
      message: 'x'.repeat(500),
      param: null,
      source: 'backend',
      upstreamStatus: 429,
    });
  });

  it.each([
    ['concurrency_limit', 'key'],
    ['insufficient_quota', 'account'],
    ['server_overloaded', 'server'],
    ['invalid_json', 'client'],
    ['upstream_unreachable', 'backend'],
  ] as const)('%s is a matter of the %s', (code, source) => {
    const failed = failure(code);
    expect(record({ status: failed.status, failure: failed }).error?.source).toBe(source);
  });

  it('does not keep what the model said in place of an image', () => {
    const failed = failure('image_not_generated', { message: 'It said: a secret' });
    const { error } = record({ status: 502, failure: failed });
    expect(error?.message).toBe('The model answered without an image.');
  });

  it('finds the failure of a stream in its turn', () => {
    const failed = failure('upstream_error', { code: 'odd' });
    const turn = { usage: null, firstEventMs: 1, durationMs: 2 };
    const error = {
      code: 'odd',
      message: failed.message,
      param: null,
      source: 'backend',
      upstreamStatus: null,
    };
    const ended = { kind: 'ended', outcome: { kind: 'failed', failure: failed } } as const;
    expect(record({ status: 200, turn: { ...turn, ending: ended } })).toMatchObject({
      outcome: 'failed',
      error,
    });
    const thrown = { kind: 'thrown', failure: failed } as const;
    expect(record({ status: 200, turn: { ...turn, ending: thrown } })).toMatchObject({
      outcome: 'failed',
      error,
    });
  });

  it('shortens names, and removes what a database rejects', () => {
    const facts = { model: `a\0b\uD800${'x'.repeat(300)}`, ignored: Array.from({ length: 60 }, () => 'n') };
    const { model, ignored } = record(facts);
    expect([model, ignored.length]).toEqual([`a b\uFFFD${'x'.repeat(196)}`, 50]);
  });

  it('knows the response of a run without a client', () => {
    expect(record({}, 'resp_9')).toMatchObject({
      responseId: 'resp_9',
      isBackground: true,
    });
  });
});
