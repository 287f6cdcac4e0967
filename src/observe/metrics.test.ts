import { describe, expect, it } from 'vitest';
import { createMetrics, describeMetrics, METRICS } from './metrics.ts';

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
      'proxy_client_websockets 0',
      'proxy_client_websocket_memory_bytes 0',
      'proxy_turns_active 1',
      'proxy_turns_running 0',
      'proxy_turns_queued 0',
      'proxy_background_queued 0',
      'proxy_background_running 0',
      'proxy_bytes_in_flight 0',
      'proxy_bytes_unread 0',
      'proxy_reasoning_memory_bytes 0',
      'proxy_item_memory_bytes 0',
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
