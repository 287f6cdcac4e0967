import { describe, expect, it } from 'vitest';

import { failure } from '../../canonical/failure/failure.ts';
import { CLOSE, closeReason } from './close-codes.ts';
import { requiredInput } from './required-input.ts';
import { errorEvent } from './server-event.ts';

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

describe('requiredInput', () => {
  it('lists the calls for the client that have no output', () => {
    expect(
      requiredInput([
        { type: 'reasoning', id: 'rs_1' },
        { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
        { type: 'custom_tool_call', call_id: 'c2', name: 'g', input: '' },
        { type: 'shell_call', call_id: 'c3' },
        { type: 'shell_call_output', call_id: 'c3' },
        { type: 'computer_call', call_id: 'c4' },
        { type: 'tool_search_call', call_id: 'c5', execution: 'client' },
        { type: 'tool_search_call', call_id: 'c6', execution: 'server' },
        { type: 'mcp_approval_request', id: 'mcpr_1' },
        { type: 'web_search_call', id: 'ws_1' },
        { type: 'message', id: 'msg_1' },
      ]),
    ).toEqual([
      { type: 'function_call_output', call_id: 'c1', name: 'f' },
      { type: 'custom_tool_call_output', call_id: 'c2' },
      { type: 'computer_call_output', call_id: 'c4' },
      { type: 'tool_search_output', call_id: 'c5', execution: 'client' },
      { type: 'mcp_approval_response', approval_request_id: 'mcpr_1' },
    ]);
  });
});

describe('closeReason', () => {
  it('fits into a close frame, with whole characters', () => {
    expect(closeReason('short')).toBe('short');
    expect(closeReason('é'.repeat(100))).toBe('é'.repeat(61));
    expect(CLOSE.normal).toBe(1000);
  });
});
