import { describe, expect, it } from 'vitest';

import { requiredInput } from './steering.ts';

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
