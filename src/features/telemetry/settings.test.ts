import { describe, expect, it } from 'vitest';

import { telemetrySettings } from './settings.ts';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

describe('telemetrySettings', () => {
  it.each<[string, Record<string, string>]>([
    ['without an endpoint', { OTEL_SERVICE_NAME: 'proxy' }],
    ['with an empty endpoint', { OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }],
    ['if the SDK is disabled', { ...ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' }],
    ['without any exporter', { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none' }],
  ])('is off %s', (_, environment) => {
    expect(telemetrySettings(environment)).toBeNull();
  });

  it('has the defaults of the specification', () => {
    expect(telemetrySettings(ENDPOINT)).toEqual({
      traces: true,
      metrics: true,
      sampler: { name: 'always_on', isParentBased: true, ratio: 1 },
      batch: {},
      reader: { exportIntervalMillis: 60_000, exportTimeoutMillis: 30_000 },
      problems: [],
    });
  });

  it('turns on the signal that has an endpoint', () => {
    const only = (name: string) => telemetrySettings({ [name]: 'http://collector:4318/x' });
    expect([
      only('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'),
      only('OTEL_EXPORTER_OTLP_METRICS_ENDPOINT'),
    ]).toMatchObject([
      { traces: true, metrics: false },
      { traces: false, metrics: true },
    ]);
  });

  it('reads samplers, batches and intervals', () => {
    expect(
      telemetrySettings({
        ...ENDPOINT,
        OTEL_TRACES_SAMPLER: 'traceidratio',
        OTEL_TRACES_SAMPLER_ARG: '0.25',
        OTEL_BSP_SCHEDULE_DELAY: '100',
        OTEL_BSP_EXPORT_TIMEOUT: '200',
        OTEL_BSP_MAX_QUEUE_SIZE: '300',
        OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '40',
        OTEL_METRIC_EXPORT_INTERVAL: '5000',
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
      }),
    ).toEqual({
      traces: true,
      metrics: true,
      sampler: { name: 'traceidratio', isParentBased: false, ratio: 0.25 },
      batch: {
        scheduledDelayMillis: 100,
        exportTimeoutMillis: 200,
        maxQueueSize: 300,
        maxExportBatchSize: 40,
      },
      reader: { exportIntervalMillis: 5000, exportTimeoutMillis: 5000 },
      problems: [],
    });
  });

  it.each([
    ['always_off', { name: 'always_off', isParentBased: false, ratio: 0 }],
    ['always_on', { name: 'always_on', isParentBased: false, ratio: 1 }],
    ['parentbased_always_off', { name: 'always_off', isParentBased: true, ratio: 0 }],
    ['parentbased_traceidratio', { name: 'traceidratio', isParentBased: true, ratio: 1 }],
  ])('knows the sampler %s', (OTEL_TRACES_SAMPLER, sampler) => {
    expect(telemetrySettings({ ...ENDPOINT, OTEL_TRACES_SAMPLER })).toMatchObject({ sampler, problems: [] });
  });

  it('names what it does not understand, and goes on', () => {
    const environment = {
      ...ENDPOINT,
      OTEL_TRACES_SAMPLER: 'jaeger_remote',
      OTEL_BSP_SCHEDULE_DELAY: 'soon',
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'grpc',
      OTEL_SEMCONV_STABILITY_OPT_IN: 'http, gen_ai_latest_experimental',
    };
    expect(telemetrySettings(environment)).toMatchObject({
      sampler: { name: 'always_on', isParentBased: true },
      batch: {},
      problems: [
        'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL is not supported: http/protobuf is used',
        'OTEL_SEMCONV_STABILITY_OPT_IN: gen_ai_latest_experimental is not supported',
        'OTEL_TRACES_SAMPLER is not supported: parentbased_always_on is used',
        'OTEL_BSP_SCHEDULE_DELAY is not a positive number',
      ],
    });
    const ratio = { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '7' };
    expect(telemetrySettings({ ...ENDPOINT, ...ratio })).toMatchObject({
      sampler: { name: 'traceidratio', ratio: 1 },
      problems: ['OTEL_TRACES_SAMPLER_ARG is not a number from 0 to 1'],
    });
  });
});
