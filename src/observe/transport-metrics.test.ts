import { expect, it } from 'vitest';

import { createMetrics } from './metrics.ts';
import { reportTransport } from './transport-metrics.ts';

const reported = () => {
  const metrics = createMetrics();
  const log: string[] = [];
  const report = reportTransport(metrics, {
    warn: (_: object, message: string) => log.push(`warn ${message}`),
    info: (message: string) => log.push(`info ${message}`),
  } as never);
  const lines = async (name: string): Promise<string[]> =>
    (await metrics.print()).split('\n').filter((line) => line.startsWith(`${name}{`));
  return { report, log, lines };
};

it('logs when the backend stops and starts to open WebSockets, and counts every dial', async () => {
  const { report, log, lines } = reported();
  for (const outcome of ['101', '403', '403', 'timeout', '101']) report.onDial(outcome, 5);
  expect(log).toEqual([
    'warn the backend did not open a WebSocket; requests are posted meanwhile',
    'info the backend opens WebSockets again',
  ]);
  expect(await lines('proxy_websocket_dials_total')).toEqual([
    'proxy_websocket_dials_total{outcome="101"} 2',
    'proxy_websocket_dials_total{outcome="403"} 2',
    'proxy_websocket_dials_total{outcome="timeout"} 1',
  ]);
});

it('counts resends by transport and reason', async () => {
  const { report, lines } = reported();
  report.onRetry('ECONNRESET', 'closed', 'websocket');
  report.onFirstEventLate('http');
  report.onFallback('too-large');
  expect(await lines('proxy_upstream_resends_total')).toEqual([
    'proxy_upstream_resends_total{transport="websocket",reason="closed"} 1',
  ]);
  expect(await lines('proxy_upstream_first_event_late_total')).toHaveLength(1);
  expect(await lines('proxy_websocket_fallbacks_total')).toHaveLength(1);
});

it('shows the sockets and times', async () => {
  const { report, lines } = reported();
  report.onPool(2, 3);
  report.onFirstByte(100, 200, 'websocket');
  report.onFirstByte(100, null, 'http');
  expect(await lines('proxy_websocket_sockets')).toEqual([
    'proxy_websocket_sockets{state="idle"} 2',
    'proxy_websocket_sockets{state="busy"} 3',
  ]);
  expect(await lines('proxy_upstream_first_byte_seconds_count')).toHaveLength(2);
  expect(await lines('proxy_upstream_first_event_seconds_count')).toHaveLength(1);
});
