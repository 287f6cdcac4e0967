import type { Config } from './config/schema.ts';
import type { TurnDeps } from './http/serve-turn.ts';
import type { Metrics } from './observe/metrics.ts';
import type { DialectSettings } from './openai/dialects/dialect.ts';

/** What the deployment decides about how calls are told, for each API that has several ways. */
export const dialectsOf = (
  { clients }: Config,
  metrics: Metrics,
): Readonly<Record<'chat' | 'responses', DialectSettings>> => {
  const onNativeOnly: DialectSettings['onNativeOnly'] = (reason) => metrics.xmlNativeOnly.inc({ reason });
  return {
    chat: { ...clients, mode: clients.outputMode, onNativeOnly },
    responses: { ...clients, mode: clients.responsesOutputMode ?? clients.outputMode, onNativeOnly },
  };
};

/** Who asks, and how they are answered, in numbers. */
export const askMetrics =
  (metrics: Metrics): TurnDeps['onAsk'] =>
  ({ client: { family, tier }, dialect }) => {
    metrics.clientRequests.inc({ family, tier });
    if (dialect !== undefined) metrics.outputModes.inc({ mode: dialect.chosen.mode });
  };
