import { describe, expect, it } from 'vitest';

import { failure } from '../../canonical/failure/failure.ts';
import { errorEvent } from './events.ts';

describe('errorEvent', () => {
  it('has what an HTTP answer would have', () => {
    const failed = failure('insufficient_quota', { retryAfterSeconds: 7 });
    const headers = { 'x-request-id': 'req_1', 'x-should-retry': 'false', 'retry-after': '7' };
    expect(errorEvent(failed, 'main', { 'x-request-id': 'req_1' })).toEqual({
      type: 'error',
      status: 429,
      error: {
        type: 'insufficient_quota',
        code: 'insufficient_quota',
        message: failed.message,
        param: null,
        headers,
      },
      headers,
      stream_id: 'main',
    });
    expect(errorEvent(failure('invalid_json'), null)).not.toHaveProperty('stream_id');
  });
});
