import { describe, expect, it } from 'vitest';

import { failure } from '../../canonical/failure/failure.ts';
import type { Outcome } from '../../canonical/events/turn-event.ts';
import { preferBackendFailure, toOutcome, type BackendNotes } from './outcomes.ts';

const report = (different: Partial<BackendNotes>): BackendNotes => ({
  failure: null,
  signIn: null,
  isAnswered: false,
  ...different,
});
const failed = (kind: Parameters<typeof failure>[0]): Outcome => ({ kind: 'failed', failure: failure(kind) });
const error = (message: string) => ({ message, codexErrorInfo: null, additionalDetails: null }) as never;

describe('how a turn ended', () => {
  it('is what the app-server reports', () => {
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

  it("is the backend's own error, if the relay saw it", () => {
    const own = failure('rate_limit_exceeded', { message: 'Slow.' });
    expect(preferBackendFailure(failed('upstream_error'), report({ failure: own }))).toEqual({
      kind: 'failed',
      failure: own,
    });
    expect(preferBackendFailure(failed('upstream_error'), report({}))).toEqual(failed('upstream_error'));
  });

  it('is the failed renewal of a refused login, which the backend does not know', () => {
    const refused = report({ failure: failure('upstream_unauthorized') });
    for (const kind of ['upstream_error', 'upstream_unreachable'] as const) {
      expect(preferBackendFailure(failed(kind), refused)).toEqual(failed(kind));
    }
    expect(preferBackendFailure(failed('upstream_unauthorized'), refused)).toEqual(
      failed('upstream_unauthorized'),
    );
  });

  it('is a lack of resources if the app-server did not even reach the relay', () => {
    const resourceFailure = {
      kind: 'failed',
      failure: failure('out_of_resources', { retryAfterSeconds: 1 }),
    };
    const auth: Outcome = {
      kind: 'failed',
      failure: failure('upstream_unreachable', { message: 'The upstream at auth could not be reached.' }),
    };
    expect(preferBackendFailure(failed('upstream_unreachable'), report({}))).toEqual(resourceFailure);
    expect(preferBackendFailure(auth, report({}))).toEqual(auth);
    // It reports the same for an answer that it could not read.
    expect(preferBackendFailure(failed('upstream_unreachable'), report({ isAnswered: true }))).toEqual(
      failed('upstream_unreachable'),
    );
    expect(toOutcome({ status: 'failed', error: error('Too many open files (os error 24)') })).toEqual(
      resourceFailure,
    );
  });

  it('stays unchanged if it succeeded, or if the failure is ours', () => {
    const heard = report({ failure: failure('rate_limit_exceeded') });
    for (const outcome of [
      { kind: 'completed' },
      { kind: 'tool-calls' },
      { kind: 'incomplete', reason: 'max_output_tokens' },
      failed('worker_lost'),
      failed('client_too_slow'),
    ] as const) {
      expect(preferBackendFailure(outcome, heard)).toEqual(outcome);
    }
  });
});
