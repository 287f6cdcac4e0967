import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterEach, describe, expect, it } from 'vitest';

import { otelEnvironment } from '../../../test/support/otel-environment.ts';
import { requestEnd, type StartedRequest } from '../../observe/request-end.ts';
import { exportTrouble, openTelemetry, type Telemetry } from './open-telemetry.ts';
import { telemetrySettings } from './settings.ts';

const silent = createServer(() => {});
await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
const { port } = silent.address() as AddressInfo;
// The SDK reads it for every exporter.
otelEnvironment({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` });
afterEach(() => silent.closeAllConnections());

const REQUEST: StartedRequest = {
  requestId: 'r',
  method: 'POST',
  route: '/v1/responses',
  startedAt: 1_700_000_000_000,
  backgroundId: null,
  traceContext: null,
};
const END = requestEnd(REQUEST, { status: 200 }, 5);

const opened = (environment: Readonly<Record<string, string>> = {}) => {
  const settings = telemetrySettings({
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_BSP_SCHEDULE_DELAY: '1',
    ...environment,
  });
  if (settings === null) throw new Error('telemetry is off');
  const lines: unknown[] = [];
  const telemetry = openTelemetry(settings, {
    logger: { warn: (facts: unknown) => void lines.push(facts) },
    clock: { now: () => 0 },
    service: { name: 'proxy', version: '1' },
    closeMs: 50,
  });
  return { telemetry, lines };
};

const serve = ({ observer }: Telemetry): void => observer.open(REQUEST)?.end?.(END);

describe('a receiver', () => {
  it('that never answers does not hold up requests or the end', async () => {
    const { telemetry } = opened();
    for (let nth = 0; nth < 5_000; nth += 1) serve(telemetry);
    await telemetry.close();
    expect(telemetry.observer.open(REQUEST)).not.toBeNull();
  });

  it('that cuts the connection is in the log once', async () => {
    const { telemetry, lines } = opened({ OTEL_BSP_EXPORT_TIMEOUT: '20' });
    serve(telemetry);
    await expect.poll(() => lines.length).toBe(1);
    serve(telemetry);
    await telemetry.close();
    expect(lines).toEqual([{ trouble: expect.any(String) as unknown, unlogged: 0 }]);
  });
});

it('metrics alone make no trace', async () => {
  const { telemetry } = opened({ OTEL_TRACES_EXPORTER: 'none' });
  expect(telemetry.observer.open(REQUEST)?.distributed).toBeNull();
  await telemetry.close();
});

it('an unsampled request has a context for others', async () => {
  const { telemetry } = opened({ OTEL_TRACES_SAMPLER: 'always_off' });
  const distributed = telemetry.observer.open(REQUEST)?.distributed;
  expect(distributed?.context).toEqual({
    traceparent: expect.stringMatching(/^00-[\da-f]{32}-[\da-f]{16}-00$/) as unknown,
    tracestate: null,
  });
  const { id, traceContext } = distributed?.identify() ?? {};
  expect(traceContext?.traceparent).toContain(`-${id}-00`);
  await telemetry.close();
});

it('trouble of exporters is logged once a minute, and the rest is counted', () => {
  const clock = { nowMs: 0, now: () => clock.nowMs };
  const lines: unknown[] = [];
  const { error, warn } = exportTrouble({ warn: (facts: unknown) => void lines.push(facts) }, clock);
  error('refused', new Error('ECONNREFUSED'));
  error('refused again');
  warn('dropped 3 spans');
  clock.nowMs = 60_000;
  error('x'.repeat(1000));
  expect(lines).toEqual([
    { trouble: 'refused ECONNREFUSED', unlogged: 0 },
    { trouble: 'x'.repeat(500), unlogged: 2 },
  ]);
});
