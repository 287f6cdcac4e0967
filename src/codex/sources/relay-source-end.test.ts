import { describe, expect, it } from 'vitest';
import {
  added,
  BEGUN,
  completed,
  done,
  eventsOf,
  message,
  replyOf,
  start,
  text,
  told,
  TURN,
  turnCompleted,
} from '../../../test/support/upstream-events.ts';
import { failure, type Failure } from '../../canonical/failure/failure.ts';
import type { KnownNotification } from '../protocol/methods.ts';
import type { SourceSignal } from './source.ts';
import { MAX_ITEMS } from './turn-items.ts';
describe('the end of a turn', () => {
  const half = [BEGUN, added(message('')), text('Half')];
  const cut: SourceSignal = { kind: 'answer-ended', how: 'cut' };
  const left: SourceSignal = { kind: 'answer-ended', how: 'left' };
  const refused = (failed: Failure): SourceSignal => ({ kind: 'refused', failure: failed });
  const failed = (kind: string) => ({ kind: 'failed', failure: { kind } });
  const incomplete = (reason: string): SourceSignal => ({
    kind: 'answer-ended',
    how: 'incomplete',
    response: { incomplete_details: { reason }, usage: { output_tokens: 7 } },
  });

  it.each<[string, readonly SourceSignal[], unknown]>([
    ['a cut', [cut], failed('upstream_error')],
    ['why it was cut', [refused(failure('rate_limit_exceeded')), cut], failed('rate_limit_exceeded')],
    [
      'why, though the app-server hung up',
      [refused(failure('rate_limit_exceeded')), left],
      failed('rate_limit_exceeded'),
    ],
    ['the reason to stop', [incomplete('content_filter')], { kind: 'incomplete', reason: 'content_filter' }],
    ['an unknown reason', [incomplete('whim')], failed('upstream_error')],
    ['a worker that is gone', [left], null],
    [
      'codex, which goes on without a network',
      [
        {
          kind: 'notified',
          notification: {
            method: 'error',
            params: {
              turnId: TURN,
              willRetry: true,
              error: { message: 'stream disconnected before completion: closed', codexErrorInfo: 'other' },
            },
          } as unknown as KnownNotification,
        },
      ],
      failed('upstream_error'),
    ],
  ])('in the middle of an answer emits %s', (_, signals, outcome) => {
    const { events, ended } = eventsOf([...half, ...signals]);
    expect(ended).toBe(outcome !== null);
    if (outcome === null) return;
    expect(events.slice(-2)).toMatchObject([
      { type: 'item-ended', item: { ...told('Half'), status: 'incomplete' } },
      { type: 'turn-ended', outcome },
    ]);
  });

  it('is reported by the app-server if no call is pending', () => {
    const whole = [BEGUN, done(message('All.')), completed({ usage: { total_tokens: 3 } })];
    expect(eventsOf(whole).ended).toBe(false);
    expect(replyOf([...whole, turnCompleted()])).toMatchObject({
      outcome: { kind: 'completed' },
      usage: { totalTokens: 3 },
    });
    expect(replyOf([...whole, ...whole, turnCompleted()])).toMatchObject({ usage: { totalTokens: 6 } });
    expect(
      replyOf([
        ...whole,
        turnCompleted({ message: 'internal error; agent loop died unexpectedly', codexErrorInfo: 'other' }),
      ]),
    ).toMatchObject({
      outcome: failed('upstream_error'),
    });
  });

  it('is never completed without a completed answer', () => {
    const { events, anomalies } = eventsOf([...half, turnCompleted()]);
    expect(events.at(-1)).toMatchObject({ outcome: failed('upstream_error') });
    expect(anomalies).toEqual(['answer-unseen']);
  });

  it('carries the backend’s message for what codex repeats', () => {
    const status = refused(failure('model_not_found'));
    const error = { message: 'unexpected status 404', codexErrorInfo: 'other' };
    expect(replyOf([status, turnCompleted(error)])).toMatchObject({ outcome: failed('model_not_found') });
    // The login was renewed, and the request sent again.
    expect(replyOf([status, BEGUN, done(message('All.')), completed(), turnCompleted()])).toMatchObject({
      outcome: { kind: 'completed' },
    });
  });

  it('after an unreadable last event requires that everything was streamed', () => {
    const unread: SourceSignal = { kind: 'answer-ended', how: 'completed', response: null };
    expect(replyOf([BEGUN, done(message('All.')), unread, turnCompleted()])).toMatchObject({
      items: [told('All.')],
      outcome: { kind: 'completed' },
      usage: null,
    });
    expect(replyOf([BEGUN, unread])).toMatchObject({ outcome: failed('upstream_error') });
    expect(replyOf([...half, unread])).toMatchObject({ outcome: failed('upstream_error') });
  });

  describe('with too many items', () => {
    const one = (index: number) => message(`${index}`, { id: `msg_${index}` });
    const all = Array.from({ length: MAX_ITEMS + 100 }, (_, index) => one(index));
    it.each<[string, readonly SourceSignal[]]>([
      ['streamed', all.map((item, index) => done(item, index))],
      ['begun', all.map((item, index) => added(item, index))],
      ['in the last event', [completed({ output: all })]],
    ])('fails at the first one beyond the limit: %s', (_, signals) => {
      const { events, ended } = eventsOf([BEGUN, ...signals, completed(), turnCompleted()]);
      const ids = events.flatMap((event) => (event.type === 'item-started' ? [event.item.id] : []));
      expect([ended, ids.length, ids.at(-1)]).toEqual([true, MAX_ITEMS + 1, `msg_${MAX_ITEMS}`]);
      expect(events.filter(({ type }) => type === 'item-ended')).toHaveLength(MAX_ITEMS + 1);
      expect(events.filter(({ type }) => type === 'turn-ended')).toMatchObject([
        { outcome: failed('too_many_output_items') },
      ]);
      expect(events.at(-1)?.type).toBe('turn-ended');
    });
    it('accepts as many as the limit allows', () => {
      const most = all.slice(0, MAX_ITEMS).map((item, index) => done(item, index));
      expect(replyOf([BEGUN, ...most, completed(), turnCompleted()])).toMatchObject({
        outcome: { kind: 'completed' },
      });
    });
  });

  it('is emitted once', () => {
    const { source } = start();
    for (const signal of half) source.take(signal);
    expect(source.end({ kind: 'failed', failure: failure('worker_lost') })).toMatchObject([
      { type: 'item-ended' },
      { type: 'turn-ended', outcome: failed('worker_lost') },
    ]);
    expect([source.take(cut), source.end({ kind: 'completed' })]).toEqual([[], []]);
  });
});
