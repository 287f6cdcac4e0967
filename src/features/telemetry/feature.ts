import { feature } from '../../compose/feature.ts';

/** Spans and metrics for OpenTelemetry, which has its own variables in the environment. */
export const telemetry = feature(
  'telemetry',
  {},
  { open: async (core) => (await import('./open.ts')).openTelemetryFeature(core) },
);
