import { diag, DiagLogLevel, type Attributes, type DiagLogger } from '@opentelemetry/api';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  detectResources,
  envDetector,
  resourceFromAttributes,
  type Resource,
} from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  RandomIdGenerator,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type Sampler,
} from '@opentelemetry/sdk-trace';

import { within } from '../../kit/async/wait.ts';
import type { Clock } from '../../kit/ambient.ts';
import type { WarningLogger } from '../../observe/log.ts';
import type { RequestObserver } from '../../observe/request-observer.ts';
import { inferencesIn, modelRequestMetrics } from './model-requests.ts';
import { PresetIds, RequestSpan } from './request-spans.ts';
import type { SamplerSettings, TelemetrySettings } from './settings.ts';

export interface Telemetry {
  readonly observer: RequestObserver;
  /** Sends what is left, within a bound. */
  close(): Promise<void>;
}

export interface TelemetryDeps {
  readonly logger: WarningLogger;
  readonly clock: Clock;
  /** The name and the version of this server. */
  readonly service: { readonly name: string; readonly version: string };
  /** For tests. */
  readonly closeMs?: number;
}

const CLOSE_MS = 3_000;
/** Of an attribute: names may come from clients. */
const MAX_CHARS = 256;
/** They are asked for all the time, and say nothing about the use of the server. */
const UNTRACED: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

/** Sends the spans of requests and the metrics of model requests to an OTLP endpoint. Loaded only if there is one. */
export const openTelemetry = (settings: TelemetrySettings, deps: TelemetryDeps): Telemetry => {
  const { service, logger, clock, closeMs = CLOSE_MS } = deps;
  diag.setLogger(exportTrouble(logger, clock), {
    logLevel: DiagLogLevel.WARN,
    suppressOverrideMessage: true,
  });
  const resource = resourceOf(service);
  const ids = new PresetIds(new RandomIdGenerator());
  const traces = settings.traces
    ? new TracerProvider({
        resource,
        idGenerator: ids,
        sampler: samplerOf(settings.sampler),
        spanLimits: { attributeValueLengthLimit: MAX_CHARS },
        spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter(), ...settings.batch })],
      })
    : null;
  const metrics = settings.metrics
    ? new MeterProvider({
        resource,
        readers: [
          new PeriodicExportingMetricReader({ exporter: new OTLPMetricExporter(), ...settings.reader }),
        ],
      })
    : null;
  const tracer = traces?.getTracer(service.name, service.version) ?? null;
  const record =
    metrics === null ? null : modelRequestMetrics(metrics.getMeter(service.name, service.version));
  return {
    observer: {
      open(request) {
        const { route } = request;
        if (UNTRACED.has(route)) return null;
        const span = tracer === null ? null : new RequestSpan(request, { tracer, ids });
        return {
          distributed: span?.distributed ?? null,
          end(end) {
            const inferences = inferencesIn(end.spans.spans, route);
            span?.end(end, inferences);
            if (record !== null) for (const inference of inferences.values()) record(inference);
          },
        };
      },
    },
    async close() {
      await within(Promise.allSettled([traces?.shutdown(), metrics?.shutdown()]), closeMs);
      diag.disable();
    },
  };
};

/** What the environment says about this service wins. */
const resourceOf = ({ name, version }: TelemetryDeps['service']): Resource => {
  const own: Attributes = { 'service.name': name, 'service.version': version };
  return resourceFromAttributes(own).merge(detectResources({ detectors: [envDetector] }));
};

const samplerOf = ({ name, isParentBased, ratio }: SamplerSettings): Sampler => {
  const root = rootSampler(name, ratio);
  return isParentBased ? new ParentBasedSampler({ root }) : root;
};

const rootSampler = (name: SamplerSettings['name'], ratio: number): Sampler => {
  if (name === 'always_on') return new AlwaysOnSampler();
  return name === 'always_off' ? new AlwaysOffSampler() : new TraceIdRatioBasedSampler(ratio);
};

/** A receiver that is down fails every few seconds. */
const TROUBLE_EVERY_MS = 60_000;
const MAX_TROUBLE_CHARS = 500;

/** Logs the trouble of exporters, at most one line a minute, with the number of those before it. */
export const exportTrouble = (logger: WarningLogger, clock: Clock): DiagLogger => {
  let loggedAt: number | null = null;
  let unlogged = 0;
  const warn = (message: string, ...more: unknown[]): void => {
    const now = clock.now();
    if (loggedAt !== null && now - loggedAt < TROUBLE_EVERY_MS) {
      unlogged += 1;
      return;
    }
    const trouble = [message, ...more.map(textOf)].join(' ').slice(0, MAX_TROUBLE_CHARS);
    logger.warn({ trouble, unlogged }, 'telemetry could not be exported');
    loggedAt = now;
    unlogged = 0;
  };
  return { error: warn, warn, info() {}, debug() {}, verbose() {} };
};

const textOf = (value: unknown): string => (value instanceof Error ? value.message : String(value));
