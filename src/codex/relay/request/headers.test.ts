import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../../kit/json/json.ts';
import { callerHeaders, requestHeaders, retryAfterOf, routingHintOf } from './headers.ts';

const TURN = { appServerTurnId: 'u9', turnId: 'u1', startedAtMs: 5, windowId: 'w1', effort: null };

describe('relayed headers', () => {
  it('of other requests lose only those of the connection', () => {
    expect(
      requestHeaders({ 'thread-id': 't1', 'accept-encoding': 'gzip', 'content-length': '3' }, null, null),
    ).toEqual({ 'thread-id': 't1', 'accept-encoding': 'gzip' });
  });

  it("carry the caller's trace context, never mixed with another", () => {
    const session = { threadId: 't', session: 't', slug: 'm', model: 'm', clientMetadata: null, turn: TURN };
    const own = { traceparent: '00-codex', tracestate: 'codex=1' };
    const traceContext = { traceparent: '00-caller', tracestate: null };
    expect(requestHeaders(own, session, null)).toEqual(own);
    expect(requestHeaders(own, { ...session, traceContext }, null)).toEqual({ traceparent: '00-caller' });
    expect(
      requestHeaders({}, { ...session, traceContext: { ...traceContext, tracestate: 'a=b' } }, null),
    ).toEqual({
      traceparent: '00-caller',
      tracestate: 'a=b',
    });
  });

  it('of a turn name one session everywhere, and use our key', () => {
    expect(
      requestHeaders(
        {
          'thread-id': 't1',
          'session-id': 't1',
          'x-client-request-id': 't1',
          'x-codex-window-id': 't1:0',
          'x-codex-turn-metadata':
            '{"thread_id":"t1","turn_id":"u9","root_turn_id":"u9","context_window_id":"w9","turn_started_at_unix_ms":1,"model":"m--full","reasoning_effort":"medium"}',
          'x-forwarded-for': '10.0.0.1',
          'cf-ray': 'x',
          via: '1.1 somewhere',
          'accept-encoding': 'gzip',
          authorization: 'Bearer theirs',
          'x-other': 't1',
        },
        {
          threadId: 't1',
          session: 's-s-s',
          slug: 'm--full',
          model: 'm',
          clientMetadata: null,
          turn: { ...TURN, effort: 'high' },
        },
        'sk-ours',
      ),
    ).toEqual({
      'thread-id': 's-s-s',
      'session-id': 's-s-s',
      'x-client-request-id': 's-s-s',
      'x-codex-window-id': 's-s-s:0',
      // Times and ids of the client's request, not of the turn that carries it.
      'x-codex-turn-metadata':
        '{"thread_id":"s-s-s","turn_id":"u1","root_turn_id":"u1","context_window_id":"w1","turn_started_at_unix_ms":5,"model":"m","reasoning_effort":"high"}',
      authorization: 'Bearer sk-ours',
      'x-other': 't1',
    });
  });

  it.each([
    ['模型-é😀', String.raw`\u6a21\u578b-\u00e9\ud83d\ude00`],
    ['a$&b', 'a$&b'],
  ])('name the model %s in ASCII, and as it is', (model, written) => {
    const headers = { 'x-codex-turn-metadata': '{"model":"m","kind":"m2"}' };
    const session = { threadId: 't', session: 't', slug: 'm', model, clientMetadata: null, turn: TURN };
    const { 'x-codex-turn-metadata': told } = requestHeaders(headers, session, null);
    expect(told).toBe(`{"model":"${written}","kind":"m2"}`);
  });

  it('of a turn hint at its model and tier', () => {
    expect([routingHintOf('gpt-5.5', null), routingHintOf('gpt-5.5', 'priority')]).toEqual([
      'model=gpt-5.5',
      'model=gpt-5.5;tier=priority',
    ]);
    expect([routingHintOf('gpt\r\n5', null), routingHintOf('x'.repeat(300), null)]).toEqual([
      undefined,
      undefined,
    ]);
  });

  it("carry the client's turn metadata, if it fits a header", () => {
    const headers = { 'thread-id': 't1', 'x-codex-window-id': 't1:0', 'x-codex-turn-metadata': 'ours' };
    const session = { threadId: 't1', session: 's', slug: 'm', model: 'm', turn: TURN };
    const told = (notes: JsonObject) => requestHeaders(headers, { ...session, clientMetadata: notes }, null);
    const plain = { 'thread-id': 's', 'x-codex-window-id': 's:0', 'x-codex-turn-metadata': 'ours' };
    expect(
      told({ 'x-codex-turn-metadata': '{"turn_id":"u"}', 'thread-id': 'x', 'x-codex-other': 'y' }),
    ).toEqual({
      ...plain,
      'x-codex-turn-metadata': '{"turn_id":"u"}',
    });
    for (const odd of ['a\r\nb: c', 'é', '', 'x'.repeat(8 * 1024 + 1), 7]) {
      expect(told({ 'x-codex-turn-metadata': odd })).toEqual(plain);
    }
  });

  it('for the caller are few', () => {
    expect(
      callerHeaders(
        {
          'x-ratelimit-key': 'key k3y-of-0urs',
          'x-request-id': 'req_1',
          'x-ratelimit-remaining-tokens': '7',
          'x-codex-primary-used-percent': '42',
          'x-codex-plan-type': 'plus',
          'x-codex-turn-state': 'opaque',
          'set-cookie': ['secret=1'],
          'openai-organization': 'org',
          'retry-after': '3',
        },
        ['k3y-of-0urs'],
      ),
    ).toEqual({
      'x-ratelimit-key': 'key ***',
      'x-upstream-request-id': 'req_1',
      'x-ratelimit-remaining-tokens': '7',
      'x-codex-primary-used-percent': '42',
      'x-codex-plan-type': 'plus',
    });
  });

  it('express the retry delay in seconds, as a date, or in milliseconds', () => {
    const now = Date.parse('2026-11-20T10:00:00Z');
    const of = (headers: Record<string, string>): number | null => retryAfterOf(headers, now);
    expect([
      of({ 'retry-after': '7' }),
      of({ 'retry-after': '0.2' }),
      of({ 'retry-after': 'Fri, 20 Nov 2026 10:00:30 GMT' }),
      of({ 'retry-after-ms': '1500' }),
      of({ 'retry-after': '7', 'retry-after-ms': '1500' }),
    ]).toEqual([7, 1, 30, 2, 7]);
    expect([
      of({}),
      of({ 'retry-after': 'soon' }),
      of({ 'retry-after': '-3' }),
      of({ 'retry-after': 'Fri, 20 Nov 2026 09:00:00 GMT' }),
      of({ 'retry-after-ms': 'x' }),
    ]).toEqual([null, null, null, null, null]);
  });
});
