import { systemAmbient } from '../kit/ambient.ts';
import type { Logger } from '../observe/log.ts';
import type { Telemetry } from '../telemetry/open-telemetry.ts';
import { telemetrySettings } from '../telemetry/settings.ts';
import { VERSION } from '../version.ts';

const SERVICE = { name: 'codex-app-server-proxy', version: VERSION };

/** Null: the environment names no OTLP endpoint, and no SDK is loaded. */
export const telemetryOf = async (
  environment: Readonly<Record<string, string | undefined>>,
  logger: Logger,
): Promise<Telemetry | null> => {
  const settings = telemetrySettings(environment);
  if (settings === null) return null;
  const { traces, metrics, problems } = settings;
  for (const problem of problems) logger.warn({ problem }, 'a variable of OpenTelemetry is not understood');
  const { openTelemetry } = await import('../telemetry/open-telemetry.ts');
  logger.info({ traces, metrics }, 'telemetry is sent to the OTLP endpoint');
  return openTelemetry(settings, { service: SERVICE, logger, clock: systemAmbient.clock });
};
