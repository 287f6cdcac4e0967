import { expect, it } from 'vitest';

import { FAILURES } from '../../src/canonical/failure-catalogue.ts';

/** Clients branch on these. A change here is a change of the API: name it in the changelog. */
it('has these error codes, each with its status and type', () => {
  const visible = Object.entries(FAILURES).map(([code, { status, type }]) => `${code} ${status} ${type}`);
  expect(visible.toSorted()).toEqual([
    'account_unavailable 503 server_error',
    'client_too_slow 500 server_error',
    'concurrency_limit 429 rate_limit_error',
    'content_policy_violation 400 invalid_request_error',
    'context_length_exceeded 400 invalid_request_error',
    'endpoint_not_supported 404 invalid_request_error',
    'headers_too_large 431 invalid_request_error',
    'insufficient_quota 429 insufficient_quota',
    'invalid_api_key 401 invalid_request_error',
    'invalid_image 400 invalid_request_error',
    'invalid_json 400 invalid_request_error',
    'invalid_prompt 400 invalid_request_error',
    'invalid_type 400 invalid_request_error',
    'invalid_value 400 invalid_request_error',
    'malformed_request 400 invalid_request_error',
    'mcp_server_unavailable 424 external_connector_error',
    'method_not_allowed 405 invalid_request_error',
    'missing_required_parameter 400 invalid_request_error',
    'model_not_found 404 invalid_request_error',
    'out_of_resources 503 server_error',
    'rate_limit_exceeded 429 rate_limit_error',
    'request_timeout 408 invalid_request_error',
    'request_too_large 413 invalid_request_error',
    'server_error 500 server_error',
    'server_overloaded 503 server_error',
    'shutting_down 503 server_error',
    'sign_in_required 503 server_error',
    'turn_timeout 504 server_error',
    'unknown_url 404 invalid_request_error',
    'unsupported_file 400 invalid_request_error',
    'unsupported_parameter 400 invalid_request_error',
    'unsupported_tool 400 invalid_request_error',
    'unsupported_value 400 invalid_request_error',
    'upstream_blocked 502 server_error',
    'upstream_error 502 server_error',
    'upstream_forbidden 403 invalid_request_error',
    'upstream_overloaded 503 server_error',
    'upstream_timeout 504 server_error',
    'upstream_unauthorized 502 server_error',
    'upstream_unreachable 502 server_error',
    'worker_lost 502 server_error',
    'worker_unavailable 503 server_error',
  ]);
});
