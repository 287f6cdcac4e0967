import { expect, it } from 'vitest';

import { METRICS } from '../../src/observe/metrics.ts';

/** Dashboards and alerts read these. A change here is a change of the API: name it in the changelog. */
it('has these metrics', () => {
  const visible = Object.values(METRICS).map(
    ({ kind, name, labels }) => `${kind} ${name}{${labels.join(',')}}`,
  );
  expect(visible).toEqual([
    'counter proxy_requests_total{route,status}',
    'counter proxy_client_requests_total{family,tier}',
    'counter proxy_output_mode_requests_total{mode}',
    'counter proxy_xml_calls_native_only_total{reason}',
    'histogram proxy_request_seconds{}',
    'histogram proxy_first_event_seconds{}',
    'gauge proxy_turns_active{}',
    'gauge proxy_turns_running{}',
    'gauge proxy_turns_queued{}',
    'histogram proxy_queue_seconds{}',
    'counter proxy_refused_total{reason}',
    'gauge proxy_bytes_in_flight{}',
    'gauge proxy_bytes_unread{}',
    'gauge proxy_reasoning_memory_bytes{}',
    'gauge proxy_item_memory_bytes{}',
    'counter proxy_reasoning_recalled_total{}',
    'counter proxy_tokens_total{kind}',
    'counter proxy_format_mismatch_total{}',
    'counter proxy_tool_repairs_total{result}',
    'counter proxy_model_request_limits_total{}',
    'counter proxy_side_requests_total{kind,result}',
    'counter proxy_format_unchecked_total{reason}',
    'counter proxy_tools_unexplained_total{reason}',
    'counter proxy_token_guesses_total{}',
    'counter proxy_observer_errors_total{}',
    'counter proxy_log_lines_dropped_total{}',
    'counter proxy_upstream_unknown_events_total{method}',
    'counter proxy_upstream_oddities_total{oddity}',
    'counter proxy_relay_blocked_total{}',
    'counter proxy_backend_switches_total{}',
    'counter proxy_upstream_malformed_lines_total{}',
    'histogram proxy_upstream_first_byte_seconds{}',
    'counter proxy_upstream_retries_total{}',
    'counter proxy_relay_unplaced_total{}',
    'counter proxy_worker_restarts_total{}',
    'counter proxy_worker_replacements_total{}',
    'counter proxy_worker_ailments_total{ailment}',
    'histogram proxy_rpc_seconds{rpc_method}',
    'counter proxy_rpc_errors_total{rpc_method,rpc_error_code}',
    'counter proxy_response_events_total{response_event_type}',
    'counter proxy_unknown_items_total{type}',
    'counter proxy_response_item_parse_errors_total{response_item_parse_error}',
    'counter proxy_parse_failures_total{of}',
    'counter proxy_ignored_params_total{param}',
    'counter proxy_stories_lost_total{reason}',
  ]);
});
