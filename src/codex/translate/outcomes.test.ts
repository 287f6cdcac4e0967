import { describe, expect, it } from 'vitest';

import { failure } from '../../canonical/failure.ts';
import type { TurnError } from '../protocol/generated/v2/TurnError.ts';
import { refine, toOutcome } from './outcomes.ts';
import type { WireReport } from './wire-report.ts';

const error = (message: string): TurnError => ({
  message,
  codexErrorInfo: 'other',
  additionalDetails: null,
  misalignment: null,
});
const report = (different: Partial<WireReport>): WireReport => ({
  ignored: [],
  limitsOutput: false,
  headers: {},
  failure: null,
  incomplete: null,
  usage: null,
  refusals: new Map(),
  ...different,
});

describe('toOutcome', () => {
  it.each([
    [{ status: 'completed', error: null }, { kind: 'completed' }],
    [
      { status: 'interrupted', error: null },
      { kind: 'failed', failure: failure('server_error') },
    ],
    [
      { status: 'failed', error: null },
      { kind: 'failed', failure: failure('server_error') },
    ],
    [
      { status: 'failed', error: error('Incomplete response returned, reason: max_output_tokens') },
      { kind: 'incomplete', reason: 'max_output_tokens' },
    ],
    [
      { status: 'failed', error: error('stream disconnected') },
      { kind: 'failed', failure: failure('upstream_error') },
    ],
  ] as const)('%j', (turn, outcome) => {
    expect(toOutcome(turn)).toEqual(outcome);
  });
});

describe('refine', () => {
  const failed = { kind: 'failed', failure: failure('upstream_error') } as const;
  const limited = failure('rate_limit_exceeded', { retryAfterSeconds: 7 });

  it.each([
    ['no relay, no change', failed, null, failed],
    ['nothing seen, no change', failed, report({}), failed],
    ["the backend's own failure", failed, report({ failure: limited }), { kind: 'failed', failure: limited }],
    [
      'the reason of an incomplete answer',
      failed,
      report({ incomplete: 'content_filter' }),
      { kind: 'incomplete', reason: 'content_filter' },
    ],
    ['a turn that did not fail', { kind: 'completed' }, report({ failure: limited }), { kind: 'completed' }],
    [
      'a worker that was lost',
      { kind: 'failed', failure: failure('worker_lost') },
      report({ failure: limited }),
      { kind: 'failed', failure: failure('worker_lost') },
    ],
    [
      'a client that was too slow',
      { kind: 'failed', failure: failure('client_too_slow') },
      report({ incomplete: 'max_output_tokens' }),
      { kind: 'failed', failure: failure('client_too_slow') },
    ],
  ] as const)('%s', (_, outcome, seen, expected) => {
    expect(refine(outcome, seen)).toEqual(expected);
  });
});
