import { describe, expect, it } from 'vitest';

import type { TurnEvent } from '../canonical/events/turn-event.ts';
import { frameTally } from './frame-metrics.ts';
import { createMetrics } from './metrics.ts';
import { malformedLines, rpcMetrics } from './rpc-metrics.ts';
import { turnMetrics } from './turn-metrics.ts';

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
