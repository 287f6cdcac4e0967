import { describe, expect, it } from 'vitest';

import { failure, failureOf } from '../../../canonical/failure/failure.ts';
import type { FailureCode } from '../../../canonical/failure/failure-catalogue.ts';
import { agentError } from '../failures.ts';
import { turnErrorOf } from './turn-errors.ts';

describe('the error of a turn', () => {
  it.each<[FailureCode, string]>([
    ['context_length_exceeded', 'context_length_exceeded'],
    ['insufficient_quota', 'usage_limit_exceeded'],
    ['rate_limit_exceeded', 'rate_limit_exceeded'],
    ['server_overloaded', 'server_overloaded'],
    ['upstream_unreachable', 'connection_failed'],
    ['upstream_unauthorized', 'authentication_error'],
    ['mcp_server_unavailable', 'sandbox_error'],
    ['invalid_image', 'invalid_request'],
    ['model_not_found', 'invalid_request'],
    ['worker_lost', 'server_error'],
    ['server_error', 'server_error'],
    ['turn_timeout', 'request_timeout'],
  ])('%s is %s', (kind, code) => {
    const failed = failure(kind, { message: 'Why.' });
    expect(turnErrorOf(failed)).toEqual({ code, message: 'Why.' });
  });

  it('says whether the key has used up what it may use', () => {
    const limit = failureOf(agentError('session_limit'));
    const queue = failureOf(agentError('agent_queue_full'));
    expect([turnErrorOf(limit).code, turnErrorOf(queue).code]).toEqual([
      'usage_limit_exceeded',
      'rate_limit_exceeded',
    ]);
  });
});
