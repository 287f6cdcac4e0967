/** What the standard variables of OpenTelemetry ask for. The exporters read their own: endpoints, headers, certificates. */
export interface TelemetrySettings {
  readonly traces: boolean;
  readonly metrics: boolean;
  readonly sampler: SamplerSettings;
  readonly batch: {
    readonly scheduledDelayMillis?: number;
    readonly exportTimeoutMillis?: number;
    readonly maxQueueSize?: number;
    readonly maxExportBatchSize?: number;
  };
  readonly reader: { readonly exportIntervalMillis?: number; readonly exportTimeoutMillis?: number };
  /** Values that are not understood, for the log. */
  readonly problems: readonly string[];
}

export interface SamplerSettings {
  readonly name: 'always_on' | 'always_off' | 'traceidratio';
  /** Whether a client that has a trace decides. */
  readonly isParentBased: boolean;
  readonly ratio: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Null: telemetry is off, and no SDK is loaded. */
export const telemetrySettings = (environment: Environment): TelemetrySettings | null => {
  const textOf = (name: string): string => environment[name]?.trim() ?? '';
  if (textOf('OTEL_SDK_DISABLED').toLowerCase() === 'true') return null;
  const isOn = (signal: 'TRACES' | 'METRICS'): boolean =>
    textOf(`OTEL_EXPORTER_OTLP_ENDPOINT`) + textOf(`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`) !== '' &&
    textOf(`OTEL_${signal}_EXPORTER`) !== 'none';
  const [traces, metrics] = [isOn('TRACES'), isOn('METRICS')];
  if (!traces && !metrics) return null;
  const problems: string[] = [];
  const numberOf = (name: string): number | undefined => {
    const text = textOf(name);
    if (text === '') return undefined;
    const value = Number(text);
    if (Number.isFinite(value) && value > 0) return value;
    problems.push(`${name} is not a positive number`);
    return undefined;
  };
  for (const signal of ['', 'TRACES_', 'METRICS_']) {
    const protocol = textOf(`OTEL_EXPORTER_OTLP_${signal}PROTOCOL`);
    if (protocol !== '' && protocol !== PROTOCOL)
      problems.push(`OTEL_EXPORTER_OTLP_${signal}PROTOCOL is not supported: ${PROTOCOL} is used`);
  }
  if (textOf('OTEL_SEMCONV_STABILITY_OPT_IN').includes(LATEST))
    problems.push(`OTEL_SEMCONV_STABILITY_OPT_IN: ${LATEST} is not supported`);
  return {
    traces,
    metrics,
    sampler: samplerOf(textOf('OTEL_TRACES_SAMPLER'), textOf('OTEL_TRACES_SAMPLER_ARG'), problems),
    batch: defined({
      scheduledDelayMillis: numberOf('OTEL_BSP_SCHEDULE_DELAY'),
      exportTimeoutMillis: numberOf('OTEL_BSP_EXPORT_TIMEOUT'),
      maxQueueSize: numberOf('OTEL_BSP_MAX_QUEUE_SIZE'),
      maxExportBatchSize: numberOf('OTEL_BSP_MAX_EXPORT_BATCH_SIZE'),
    }),
    reader: readerOf(numberOf('OTEL_METRIC_EXPORT_INTERVAL'), numberOf('OTEL_METRIC_EXPORT_TIMEOUT')),
    problems,
  };
};

const PROTOCOL = 'http/protobuf';
const LATEST = 'gen_ai_latest_experimental';
const PARENT_BASED = 'parentbased_';
/** Of the specification. */
const INTERVAL_MS = 60_000;
const TIMEOUT_MS = 30_000;

/** An export must end before the next one begins. */
const readerOf = (
  intervalMs: number = INTERVAL_MS,
  timeoutMs: number = TIMEOUT_MS,
): TelemetrySettings['reader'] => ({
  exportIntervalMillis: intervalMs,
  exportTimeoutMillis: Math.min(timeoutMs, intervalMs),
});

const samplerOf = (asked: string, argument: string, problems: string[]): SamplerSettings => {
  const isParentBased = asked === '' || asked.startsWith(PARENT_BASED);
  const name = asked.replace(PARENT_BASED, '');
  switch (name) {
    case '':
    case 'always_on':
      return { name: 'always_on', isParentBased, ratio: 1 };
    case 'always_off':
      return { name, isParentBased, ratio: 0 };
    case 'traceidratio': {
      const ratio = argument === '' ? 1 : Number(argument);
      if (ratio >= 0 && ratio <= 1) return { name, isParentBased, ratio };
      problems.push('OTEL_TRACES_SAMPLER_ARG is not a number from 0 to 1');
      return { name, isParentBased, ratio: 1 };
    }
    default:
      problems.push('OTEL_TRACES_SAMPLER is not supported: parentbased_always_on is used');
      return { name: 'always_on', isParentBased: true, ratio: 1 };
  }
};

const defined = <Value>(values: Readonly<Record<string, Value | undefined>>): Record<string, Value> =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
