import { describe, expect, it } from 'vitest';

import { createMetrics, describeMetrics, METRICS } from './metrics.ts';
import type { TurnEvent } from '../canonical/events/turn-event.ts';
import { frameTally, turnMetrics } from './turn-metrics.ts';
import { malformedLines, rpcMetrics } from './rpc-metrics.ts';

const sampleLines = async (print: () => Promise<string>): Promise<string[]> =>
  (await print())
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#') && !line.includes('_seconds'));

describe('createMetrics', () => {
  it('prints counted values', async () => {
    const metrics = createMetrics();
    metrics.requests.inc({ route: '/v1/responses', status: '200' });
    metrics.tokens.inc({ kind: 'input' }, 12);
    metrics.turnsActive.inc();
    metrics.upstreamUnknownEvents.inc({ method: 'thread/odd' });
    metrics.requestSeconds.observe(0.02);
    expect(await sampleLines(metrics.print)).toEqual([
      'proxy_requests_total{route="/v1/responses",status="200"} 1',
      'proxy_turns_active 1',
      'proxy_turns_running 0',
      'proxy_turns_queued 0',
      'proxy_bytes_in_flight 0',
      'proxy_bytes_unread 0',
      'proxy_reasoning_memory_bytes 0',
      'proxy_store_swept_total 0',
      'proxy_reasoning_recalled_total 0',
      'proxy_reasoning_dropped_total 0',
      'proxy_tokens_total{kind="input"} 12',
      'proxy_format_mismatch_total 0',
      'proxy_model_request_limits_total 0',
      'proxy_token_guesses_total 0',
      'proxy_observer_errors_total 0',
      'proxy_log_lines_dropped_total 0',
      'proxy_upstream_unknown_events_total{method="thread/odd"} 1',
      'proxy_relay_blocked_total 0',
      'proxy_backend_switches_total 0',
      'proxy_upstream_malformed_lines_total 0',
      'proxy_upstream_retries_total 0',
      'proxy_relay_unplaced_total 0',
      'proxy_prestart_misses_total 0',
      'proxy_prestarted_turns_waiting 0',
      'proxy_carrier_threads_idle 0',
      'proxy_worker_restarts_total 0',
      'proxy_worker_replacements_total 0',
    ]);
    const page = await metrics.print();
    expect(page).toContain('proxy_request_seconds_bucket{le="0.025"} 1\n');
    expect(page).toContain('proxy_request_seconds_bucket{le="0.01"} 0\n');
    expect(page).toContain('proxy_first_event_seconds_count 0\n');
    expect(metrics.contentType).toBe('text/plain; version=0.0.4; charset=utf-8');
  });

  it('never throws for any value', async () => {
    const metrics = createMetrics();
    metrics.requestSeconds.observe(Number.NaN);
    metrics.tokens.inc({ kind: 'input' }, -1);
    metrics.requests.inc({ odd: 'label' } as never);
    metrics.turnsActive.set('two' as never);
    expect(await sampleLines(metrics.print)).toContain('proxy_turns_active 0');
  });

  it('shares nothing between two registries', async () => {
    const one = createMetrics();
    const other = createMetrics();
    one.workerRestarts.inc();
    expect(await sampleLines(other.print)).toContain('proxy_worker_restarts_total 0');
  });
});

describe('describeMetrics', () => {
  it('has one row for every metric', () => {
    const names = [...describeMetrics(METRICS).matchAll(/^\| `(\w+)`/gm)].map((match) => match[1]);
    expect(names).toEqual(Object.values(METRICS).map(({ name }) => name));
    expect(describeMetrics(METRICS).split('\n')).toContain(
      '| `proxy_requests_total` | counter by `route`, `status` | Answered requests, by route and HTTP status. |',
    );
  });
});

const linesOf = async (print: () => Promise<string>, name: string): Promise<string[]> =>
  (await print()).split('\n').filter((line) => line.startsWith(name) && !line.includes('_bucket'));

describe('rpcMetrics', () => {
  it('counts calls and their failures', async () => {
    const metrics = createMetrics();
    const warnings: unknown[] = [];
    const count = rpcMetrics(metrics, { warn: (...line: unknown[]) => void warnings.push(line) });
    count({ method: 'turn/start', seconds: 0.5, error: null });
    count({ method: 'turn/start', seconds: 20, error: 'timeout', refusals: 2 });
    count({ method: 'thread/start', seconds: 0.25, error: -32_600 });
    count({ method: 'turn/interrupt', seconds: 0.5, error: 'closed' });
    count({ method: 'turn/interrupt', seconds: 60, error: 'timeout', refusals: 0 });
    expect(await linesOf(metrics.print, 'proxy_rpc')).toEqual([
      'proxy_rpc_seconds_sum{rpc_method="turn/start"} 20.5',
      'proxy_rpc_seconds_count{rpc_method="turn/start"} 2',
      'proxy_rpc_seconds_sum{rpc_method="thread/start"} 0.25',
      'proxy_rpc_seconds_count{rpc_method="thread/start"} 1',
      'proxy_rpc_seconds_sum{rpc_method="turn/interrupt"} 60.5',
      'proxy_rpc_seconds_count{rpc_method="turn/interrupt"} 2',
      'proxy_rpc_errors_total{rpc_method="turn/start",rpc_error_code="timeout"} 1',
      'proxy_rpc_errors_total{rpc_method="thread/start",rpc_error_code="-32600"} 1',
      'proxy_rpc_errors_total{rpc_method="turn/interrupt",rpc_error_code="closed"} 1',
      'proxy_rpc_errors_total{rpc_method="turn/interrupt",rpc_error_code="timeout"} 1',
    ]);
    expect(warnings).toEqual([
      [{ method: 'turn/start', seconds: 20, refusals: 2 }, 'the app-server did not answer a call in time'],
      [
        { rpc_method: 'thread/start', rpc_error_code: -32_600 },
        'the app-server answered a call with an error',
      ],
    ]);
  });

  it('counts malformed lines, and logs each reason once', async () => {
    const metrics = createMetrics();
    const warnings: unknown[] = [];
    const report = malformedLines(metrics, { warn: (...line: unknown[]) => void warnings.push(line) });
    for (const reason of ['not JSON', 'not JSON', 'not an object']) report(reason);
    expect(await linesOf(metrics.print, 'proxy_upstream_malformed')).toEqual([
      'proxy_upstream_malformed_lines_total 3',
    ]);
    const message = 'the app-server wrote a line that is not a JSON-RPC message';
    expect(warnings).toEqual([
      [{ reason: 'not JSON' }, message],
      [{ reason: 'not an object' }, message],
    ]);
  });
});

describe('frameTally', () => {
  it('adds the totals of a stream at its end, by known type', async () => {
    const metrics = createMetrics();
    const tally = frameTally(metrics);
    for (const frame of [
      { event: 'response.output_text.delta', data: {} },
      { event: 'response.output_text.delta', data: {} },
      { event: 'response.their_own_call.dreaming', data: {} },
      { event: 'codex.review.completed', data: {} },
      { event: null, data: { object: 'chat.completion.chunk' } },
      { event: null, data: { error: {} } },
      { event: null, data: '[DONE]' },
    ]) {
      tally.sent(frame);
    }
    expect(await linesOf(metrics.print, 'proxy_response_events_total')).toEqual([]);
    tally.ended();
    tally.ended();
    expect(await linesOf(metrics.print, 'proxy_response_events_total')).toEqual([
      'proxy_response_events_total{response_event_type="response.output_text.delta"} 2',
      'proxy_response_events_total{response_event_type="other"} 1',
      'proxy_response_events_total{response_event_type="codex.review.completed"} 1',
      'proxy_response_events_total{response_event_type="chat.completion.chunk"} 1',
      'proxy_response_events_total{response_event_type="error"} 1',
      'proxy_response_events_total{response_event_type="[DONE]"} 1',
    ]);
  });
});

describe('turnMetrics', () => {
  it('counts items of unknown types', async () => {
    const metrics = createMetrics();
    const observer = turnMetrics(metrics);
    for (const type of ['dream_call', 'web_search_call', 'dream_call', 'not plain']) {
      const item = { kind: 'hosted-call', id: 'item_1', raw: { type } };
      observer.onEvent?.({ type: 'item-ended', item } as TurnEvent);
    }
    expect(await linesOf(metrics.print, 'proxy_unknown_items_total')).toEqual([
      'proxy_unknown_items_total{type="dream_call"} 2',
      'proxy_unknown_items_total{type="other"} 1',
    ]);
  });
});
