import type { Config } from '../config/schema.ts';
import { createAdmission } from '../turns/admission.ts';
import { transportFor } from '../engine/prose-tools/tool-transport.ts';
import { createBodyBudget } from '../http/body/body-budget.ts';
import { askMetrics, type dialectsOf } from '../http/turn/dialects.ts';
import { requestsOf, type Endpoint } from '../http/turn/endpoint.ts';
import { createImageFetcher } from '../turns/attachments/fetch-image.ts';
import { modelBudgets } from '../http/turn/model-budgets.ts';
import { paramLabel } from '../http/answer/param-label.ts';
import { chatEndpoint } from '../http/routes/chat.ts';
import { compactEndpoint } from '../http/routes/compact.ts';
import { completionsEndpoint } from '../http/routes/completions.ts';
import { imageEditsEndpoint, imagesEndpoint } from '../http/routes/images.ts';
import { responsesEndpoint } from '../http/routes/responses.ts';
import { reviewsEndpoint } from '../http/routes/reviews.ts';
import { RecentItems } from '../turns/recent-items.ts';
import { RunningResponses } from '../turns/running-responses.ts';
import type { TurnDeps } from '../http/turn/serve-turn.ts';
import { systemAmbient } from '../kit/system-ambient.ts';
import { contentLog } from '../observe/content-log.ts';
import { frameTally } from '../observe/frame-metrics.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { TurnObserver } from '../observe/observer.ts';
import { turnTotal } from '../observe/turn-total.ts';
import type { ThreadedTokenizer } from '../tokenizer/threaded-tokenizer.ts';

/** The APIs that run turns, as the deployment wants them. */
export const endpointsOf = (
  config: Config,
  dialects: ReturnType<typeof dialectsOf>,
  { textOf }: Pick<ThreadedTokenizer, 'textOf'>,
): readonly Endpoint[] => [
  ...[responsesEndpoint, compactEndpoint].map((endpoint) =>
    endpoint({
      layout: config.api.responsesLayout,
      usagePolicy: config.api.usagePolicy,
      ignoreClientPrompt: config.api.ignoreClientSystemPrompt,
      parallelCalls: config.tools.parallelCalls,
      omitsTools: (model) =>
        config.api.omitToolManifest && transportFor(config.api.toolTransport, model) === 'native',
      dialect: dialects.responses,
    }),
  ),
  chatEndpoint({
    usagePolicy: config.api.usagePolicy,
    ignoreClientPrompt: config.api.ignoreClientSystemPrompt,
    showReasoning: config.api.chatReasoning,
    parallelCalls: config.tools.parallelCalls,
    dialect: dialects.chat,
  }),
  completionsEndpoint({ usagePolicy: config.api.usagePolicy, textOf }),
  reviewsEndpoint({ usagePolicy: config.api.usagePolicy }),
  ...[imagesEndpoint, imageEditsEndpoint].map((endpoint) =>
    endpoint({ chatModel: config.images.chatModel, usagePolicy: config.api.usagePolicy }),
  ),
];

/** What the turns of all endpoints share, besides the engine. */
export const turnDeps = (
  config: Config,
  logger: Logger,
  metrics: Metrics,
  /** Those who watch every turn. */
  standing: readonly TurnObserver[],
): Omit<TurnDeps, 'engine' | 'models' | 'tokens' | 'formats' | 'captures' | 'sideTurns'> => ({
  ambient: systemAmbient,
  running: new RunningResponses(),
  items: new RecentItems({
    maxBytes: config.api.itemMemoryMb * 1024 * 1024,
    clock: systemAmbient.clock,
    onChange: (bytes) => metrics.itemBytesRemembered.set(bytes),
  }),
  admission: createAdmission({
    maxRunning: config.load.maxConcurrentTurns,
    maxQueued: config.load.maxQueuedTurns,
    queueTimeoutMs: config.load.queueTimeoutMs,
    clock: systemAmbient.clock,
    onChange({ inside, waiting }) {
      metrics.turnsRunning.set(inside);
      metrics.turnsQueued.set(waiting);
    },
    onWaited: (ms) => metrics.queueSeconds.observe(ms / 1000),
    onRefused: (reason) => metrics.refused.inc({ reason }),
  }),
  bodies: createBodyBudget({
    maxBytes: config.load.maxBytesInFlightMb * 1024 * 1024,
    waitMs: config.load.queueTimeoutMs,
    clock: systemAmbient.clock,
    onChange: (bytes) => metrics.bytesInFlight.set(bytes),
    onRefused: () => metrics.refused.inc({ reason: 'bytes' }),
  }),
  fetchImage: createImageFetcher({
    enabled: config.images.fetchEnabled,
    allowPrivate: config.images.fetchPrivate,
  }),
  passesImageUrls: config.images.urls === 'auto',
  onAsk: askMetrics(metrics),
  observersOf: (ask, exchange) => [
    ...standing,
    turnTotal((turn) => exchange.note({ turn })),
    ...(config.log.content ? [contentLog(logger, exchange.requestId, requestsOf(ask), ask.choices)] : []),
  ],
  onObserverError: (err) => {
    metrics.observerErrors.inc();
    logger.error({ err }, 'observer failed');
  },
  frameTally: () => frameTally(metrics),
  onIgnored: (names) => {
    for (const param of new Set(names.map(paramLabel))) metrics.ignoredParams.inc({ param });
  },
  onBug: (err, { requestId }) => logger.error({ requestId, err }, 'turn failed unexpectedly'),
  onFormatMismatch: ({ requestId }) => {
    metrics.formatMismatches.inc();
    logger.warn({ requestId }, 'the answer does not match the requested format');
  },
  openBudget: modelBudgets(config.load.maxModelRequests, { metrics, logger }),
  repair: {
    attempts: config.tools.repairAttempts,
    inStreams: config.tools.repairStreams,
    onRepair: (result) => metrics.toolRepairs.inc({ result }),
  },
  maxBodyBytes: config.http.maxBodyBytes,
  keepaliveMs: config.http.sseKeepaliveMs,
  strictParams: config.api.strictParams,
});
