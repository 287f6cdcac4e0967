import type { Core, OpenFeature } from '../../compose/feature.ts';
import { VERSION } from '../../version.ts';
import { telemetrySettings } from './settings.ts';

const SERVICE = { name: 'codex-app-server-proxy', version: VERSION };

/** Does nothing if the environment names no OTLP endpoint: no SDK is loaded then. */
export const openTelemetryFeature = async ({ environment, logger, ambient }: Core): Promise<OpenFeature> => {
  const settings = telemetrySettings(environment);
  if (settings === null) return {};
  const { traces, metrics, problems } = settings;
  for (const problem of problems) logger.warn({ problem }, 'a variable of OpenTelemetry is not understood');
  const { openTelemetry } = await import('./open-telemetry.ts');
  logger.info({ traces, metrics }, 'telemetry is sent to the OTLP endpoint');
  return openTelemetry(settings, { service: SERVICE, logger, clock: ambient.clock });
};
