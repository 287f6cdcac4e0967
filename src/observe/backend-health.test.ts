import { describe, expect, it } from 'vitest';

import { failure } from '../canonical/failure/failure.ts';
import type { FailureCode } from '../canonical/failure/failure-catalogue.ts';
import { BackendWatch } from './backend-health.ts';
import type { TurnEnding } from './observer.ts';

const failed = (kind: FailureCode): TurnEnding => ({
  kind: 'ended',
  outcome: { kind: 'failed', failure: failure(kind) },
});
const thrown = (kind: FailureCode): TurnEnding => ({ kind: 'thrown', failure: failure(kind) });
const completed: TurnEnding = { kind: 'ended', outcome: { kind: 'completed' } };
const abandoned: TurnEnding = { kind: 'abandoned' };

/** Turns end at 1, 2, 3 … */
const after = (...endings: readonly TurnEnding[]): unknown => {
  let now = 0;
  const watch = new BackendWatch({ now: () => now });
  for (const ending of endings) {
    now += 1;
    watch.onEnd({ ending, usage: null, firstEventMs: null, durationMs: 0 });
  }
  return watch.health();
};

describe('BackendWatch', () => {
  it.each<readonly [string, readonly TurnEnding[], unknown]>([
    ['nothing was asked', [], { state: 'unknown' }],
    ['an answer', [completed], { state: 'ok', since: 1 }],
    ['tool calls', [{ kind: 'ended', outcome: { kind: 'tool-calls' } }], { state: 'ok', since: 1 }],
    ['well for some time', [completed, completed], { state: 'ok', since: 1 }],
    [
      'unreachable',
      [completed, thrown('upstream_unreachable'), failed('upstream_unreachable')],
      { state: 'failing', reason: 'unreachable', since: 2 },
    ],
    [
      'another trouble',
      [failed('upstream_error'), failed('insufficient_quota')],
      { state: 'failing', reason: 'limited', since: 2 },
    ],
    ['well again', [failed('upstream_error'), completed], { state: 'ok', since: 2 }],
    ['a refused request has reached it', [failed('invalid_prompt')], { state: 'ok', since: 1 }],
    ['a busy moment is not a problem', [failed('rate_limit_exceeded')], { state: 'ok', since: 1 }],
    ['our own trouble says nothing', [failed('worker_lost'), abandoned], { state: 'unknown' }],
  ])('%s', (_, endings, expected) => {
    expect(after(...endings)).toEqual(expected);
  });
});
