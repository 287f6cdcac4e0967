import { describe, expect, it } from 'vitest';

import { failure } from '../../canonical/failure.ts';
import type { Outcome } from '../../canonical/outcome.ts';
import { refine, toOutcome } from './outcomes.ts';
import type { WireReport } from './wire-report.ts';

const report = (different: Partial<WireReport>): WireReport => ({
  ignored: [],
  limitsOutput: false,
  headers: {},
  failure: null,
  signIn: null,
  incomplete: null,
  usage: null,
  refusals: new Map(),
  ...different,
});
const failed = (kind: Parameters<typeof failure>[0]): Outcome => ({ kind: 'failed', failure: failure(kind) });
const error = (message: string) => ({ message, codexErrorInfo: null, additionalDetails: null }) as never;

describe('how a turn ended', () => {
  it('is what the app-server says', () => {
    expect(toOutcome({ status: 'completed', error: null })).toEqual({ kind: 'completed' });
    expect(toOutcome({ status: 'interrupted', error: null })).toEqual(failed('server_error'));
    expect(toOutcome({ status: 'failed', error: error('stream disconnected before completion') })).toEqual(
      failed('upstream_error'),
    );
    expect(
      toOutcome({
        status: 'failed',
        error: error('Incomplete response returned, reason: max_output_tokens'),
      }),
    ).toEqual({ kind: 'incomplete', reason: 'max_output_tokens' });
  });

  it('is what the backend said about it, where the relay heard that', () => {
    const own = failure('rate_limit_exceeded', { message: 'Slow.' });
    expect(refine(failed('upstream_error'), report({ failure: own }), false)).toEqual({
      kind: 'failed',
      failure: own,
    });
    expect(refine(failed('upstream_error'), report({ incomplete: 'content_filter' }), false)).toEqual({
      kind: 'incomplete',
      reason: 'content_filter',
    });
    expect(refine(failed('upstream_error'), report({}), false)).toEqual(failed('upstream_error'));
    expect(refine(failed('upstream_error'), null, false)).toEqual(failed('upstream_error'));
  });

  it('is that a refused login could not be renewed, which the backend knows nothing about', () => {
    const refused = report({ failure: failure('upstream_unauthorized') });
    for (const kind of ['upstream_error', 'upstream_unreachable'] as const) {
      expect(refine(failed(kind), refused, false)).toEqual(failed(kind));
    }
    expect(refine(failed('upstream_unauthorized'), refused, false)).toEqual(failed('upstream_unauthorized'));
  });

  it('is that there is no room, where the app-server did not even reach the relay', () => {
    const noRoom = { kind: 'failed', failure: failure('out_of_resources', { retryAfterSeconds: 1 }) };
    const auth: Outcome = {
      kind: 'failed',
      failure: failure('upstream_unreachable', { message: 'The upstream at auth could not be reached.' }),
    };
    expect(refine(failed('upstream_unreachable'), report({}), false)).toEqual(noRoom);
    expect(refine(failed('upstream_unreachable'), null, false)).toEqual(failed('upstream_unreachable'));
    expect(refine(auth, report({}), false)).toEqual(auth);
    // An answer that it could not read: it says the same.
    expect(refine(failed('upstream_unreachable'), report({}), true)).toEqual(failed('upstream_unreachable'));
    expect(toOutcome({ status: 'failed', error: error('Too many open files (os error 24)') })).toEqual(
      noRoom,
    );
  });

  it('stays what it is when it went well, or when it is about us', () => {
    const heard = report({ failure: failure('rate_limit_exceeded'), incomplete: 'content_filter' });
    for (const outcome of [
      { kind: 'completed' },
      { kind: 'tool-calls' },
      { kind: 'incomplete', reason: 'max_output_tokens' },
      failed('worker_lost'),
      failed('client_too_slow'),
    ] as const) {
      expect(refine(outcome, heard, false)).toEqual(outcome);
    }
  });
});
