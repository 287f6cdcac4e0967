import type { Metrics } from '../../observe/metrics.ts';
import type { OutputMode } from '../../openai/dialects/choose-mode.ts';
import type { DialectSettings } from '../../openai/dialects/dialect.ts';
import type { StopSettings } from '../../openai/dialects/stop-rules.ts';
import type { ParsedRequest } from '../../turns/api.ts';

interface DialectConfig extends StopSettings {
  readonly outputMode: OutputMode;
  /** Null: as everywhere else. */
  readonly responsesOutputMode: OutputMode | null;
}

/** What the deployment decides about how calls are told, for each API that has several ways. */
export const dialectsOf = (
  config: DialectConfig,
  metrics: Pick<Metrics, 'xmlNativeOnly'>,
): Readonly<Record<'chat' | 'responses', DialectSettings>> => {
  const onNativeOnly: DialectSettings['onNativeOnly'] = (reason) => metrics.xmlNativeOnly.inc({ reason });
  return {
    chat: { ...config, mode: config.outputMode, onNativeOnly },
    responses: { ...config, mode: config.responsesOutputMode ?? config.outputMode, onNativeOnly },
  };
};

/** Who asks, and how they are answered, in numbers. */
export const askMetrics =
  (metrics: Pick<Metrics, 'clientRequests' | 'outputModes'>) =>
  ({ client, dialect }: Pick<ParsedRequest, 'client' | 'dialect'>): void => {
    metrics.clientRequests.inc({ family: client.name, tier: client.source });
    if (dialect !== undefined) metrics.outputModes.inc({ mode: dialect.mode });
  };
