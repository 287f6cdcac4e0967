import { expect, it } from 'vitest';

import { mcpErrorText } from './mcp-error.ts';

/** Messages of codex 0.166.0. */
it.each([
  [
    'MCP startup failed: No such file or directory (os error 2)',
    'could not be started: No such file or directory (os error 2)',
  ],
  [
    'MCP startup failed: handshaking with MCP server failed: connection closed: initialize response: connection closed: initialize response',
    'ended before it answered',
  ],
  [
    'MCP startup failed: timed out handshaking with MCP server after 2.999999479s: deadline has elapsed',
    'did not answer within 3 s',
  ],
  [
    'MCP startup failed: timed out handshaking with MCP server after 999.999729ms: deadline has elapsed',
    'did not answer within 1 s',
  ],
  ['timed out awaiting tools/list after 90s', 'did not answer within 90 s'],
  [
    'MCP startup failed: handshaking with MCP server failed: Send message error Transport [codex_rmcp_client::tool_list_changes::ToolListChanges<codex_rmcp_client::a::B<rmcp::c::D>>] error: unexpected server response: HTTP 500: out of order at http://127.0.0.1:1/x',
    'failed: handshaking with MCP server failed: Send message error Transport error: unexpected server response: HTTP 500: out of order at',
  ],
])('shortens the message for %s', (said, short) => {
  expect(mcpErrorText(said)).toBe(short);
});
