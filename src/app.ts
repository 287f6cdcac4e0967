import { mkdir } from 'node:fs/promises';

import { chooseBackend, signedOutEngine, signInCommand } from './backend.ts';
import { findCodexBinary } from './codex/binary.ts';
import { prepareHomes } from './codex/home/prepare-home.ts';
import { createWorkerSpawner } from './codex/worker/spawn-worker.ts';
import {
  createWorkerPool,
  type WorkerDescription,
  type WorkerPool,
  type WorkerPoolEvent,
} from './codex/worker/supervisor.ts';
import type { Config } from './config/schema.ts';
import { withEmulations } from './engine/emulate.ts';
import { createModelDirectory } from './engine/model-directory.ts';
import { createEngine } from './engine/run-turn.ts';
import { SpareThreads } from './engine/spare-threads.ts';
import { loadOrCreateApiKey } from './http/api-key-file.ts';
import { createImageFetcher } from './http/fetch-image.ts';
import { createAuthenticator } from './http/guards/authenticate.ts';
import { chatEndpoint } from './http/routes/chat.ts';
import { completionsEndpoint } from './http/routes/completions.ts';
import { responsesEndpoint } from './http/routes/responses.ts';
import { routeTable } from './http/routes/table.ts';
import type { TurnDeps } from './http/serve-turn.ts';
import { createServer } from './http/server.ts';
import { systemAmbient } from './kit/system-ambient.ts';
import { contentLog } from './observe/content-log.ts';
import type { Logger } from './observe/log.ts';
import { createMetrics, type Metrics } from './observe/metrics.ts';
import { turnMetrics } from './observe/turn-metrics.ts';
import { turnTotal } from './observe/turn-total.ts';
import { placeRelay } from './place-relay.ts';
import { loadTokenizer } from './tokenizer/o200k.ts';
import { VERSION } from './version.ts';

export interface App {
  readonly fetch: (http: Request) => Promise<Response> | Response;
  /** Which backend answers, in words. */
  readonly backend: string;
  /** Null where signing in would change nothing, because a provider was named. */
  readonly howToSignIn: string | null;
  /** The key that was made at the first start; null where the configuration names keys. */
  readonly ownKey: string | null;
  workers(): readonly WorkerDescription[];
  /** Finish what runs, up to the limit, and leave nothing behind. */
  stop(timeoutMs: number): Promise<void>;
}

export interface AppDeps {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly logger: Logger;
}

/** How long a request may wait for a worker. */
const WORKER_WAIT_MS = 15_000;

/** The composition root: the only file that knows every part. */
export const createApp = async (config: Config, { environment, logger }: AppDeps): Promise<App> => {
  const metrics = createMetrics();
  const homes = await prepareHomes({
    stateDir: config.state.dir,
    binary: findCodexBinary(),
    environment: { ...environment, CODEX_HOME: config.upstream.codexHome ?? undefined },
  });
  const chosen = await chooseBackend(config.upstream, homes);
  if (
    config.upstream.codexHome !== null &&
    chosen.backend.kind !== 'login' &&
    chosen.backend.kind !== 'upstream'
  ) {
    logger.warn({ codexHome: config.upstream.codexHome }, 'CODEX_HOME holds no login');
  }
  const placed = await placeRelay(chosen.backend, config.upstream, environment, { logger, metrics });
  const { relay, backend } = placed;
  await mkdir(config.codex.workDir, { recursive: true });
  const workers = createPool(config, createSpawner(), logger, metrics);
  const models = createModelDirectory(workers, systemAmbient.clock);
  const howToSignIn = chosen.backend.kind === 'upstream' ? null : signInCommand(homes);
  const engine =
    backend.kind === 'none'
      ? signedOutEngine
      : withEmulations(
          createEngine({
            workers,
            relay,
            spares: new SpareThreads(systemAmbient.clock),
            settings: {
              instructionsTarget: config.api.instructionsTarget,
              sandboxMode: config.codex.sandboxMode,
              approvalPolicy: config.codex.approvalPolicy,
              workdir: config.codex.workDir,
              choosesToolsOnWire: relay !== null,
            },
            ids: systemAmbient.ids,
            onOddity: (oddity) => metrics.upstreamOddities.inc({ oddity }),
          }),
          loadTokenizer,
        );
  const ownKey = config.http.apiKeys.length > 0 ? null : (await loadOrCreateApiKey(config.state.dir)).key;
  const server = createServer({
    routes: routeTable({
      endpoints: [
        responsesEndpoint({
          layout: config.api.responsesLayout,
          usagePolicy: config.api.usagePolicy,
          ignoreClientPrompt: config.api.ignoreClientSystemPrompt,
        }),
        chatEndpoint({
          usagePolicy: config.api.usagePolicy,
          ignoreClientPrompt: config.api.ignoreClientSystemPrompt,
          showReasoning: config.api.chatReasoning,
        }),
        completionsEndpoint({ usagePolicy: config.api.usagePolicy }),
      ],
      turns: { engine, models, ...turnDeps(config, logger, metrics) },
      models,
      metrics,
      isReady: () => workers.ready && !server.draining(),
    }),
    authenticate: createAuthenticator(ownKey === null ? config.http.apiKeys : [ownKey]),
    ambient: systemAmbient,
    logger,
    metrics,
  });
  const closeBackend = async (): Promise<void> => {
    await placed.close();
    await chosen.close();
  };
  await workers.start().catch(async (error: unknown) => {
    await closeBackend();
    throw error;
  });
  return {
    fetch: server.fetch,
    backend: chosen.description,
    howToSignIn,
    ownKey,
    workers: () => workers.describe(),
    async stop(timeoutMs) {
      await server.drain(timeoutMs);
      await workers.drain(LAST_INTERRUPTS_MS);
      await closeBackend();
    },
  };

  function createSpawner() {
    return createWorkerSpawner({
      homes,
      backend,
      clientInfo: { name: 'codex-app-server-proxy', title: null, version: VERSION },
      onStderr: (line) => logger.debug({ line }, 'app-server stderr'),
      onUnknownNotification: (method) => metrics.upstreamUnknownEvents.inc({ method }),
      onMalformedLine: () => metrics.upstreamMalformedLines.inc(),
      onListenerError: (err) => logger.error({ err }, 'a turn could not take a notification'),
    });
  }
};

/** After the last answer, interrupts of aborted turns may still be under way. */
const LAST_INTERRUPTS_MS = 2_000;

const createPool = (
  config: Config,
  spawnWorker: Parameters<typeof createWorkerPool>[0]['spawnWorker'],
  logger: Logger,
  metrics: Metrics,
): WorkerPool =>
  createWorkerPool({
    spawnWorker,
    maxThreads: config.worker.maxThreads,
    maxRssMb: config.worker.maxRssMb,
    maxHomeMb: config.worker.maxHomeMb,
    waitMs: WORKER_WAIT_MS,
    clock: systemAmbient.clock,
    onEvent: (event) => reportWorkerEvent(event, logger, metrics),
  });

const reportWorkerEvent = (event: WorkerPoolEvent, logger: Logger, metrics: Metrics): void => {
  const { kind, ...facts } = event;
  if (kind === 'worker-lost') metrics.workerRestarts.inc();
  if (kind === 'worker-worn') metrics.workerReplacements.inc();
  const isTrouble = kind === 'worker-lost' || kind === 'start-failed' || kind === 'diagnostics-failed';
  logger[isTrouble ? 'warn' : 'info'](facts, kind);
};

const turnDeps = (config: Config, logger: Logger, metrics: Metrics): Omit<TurnDeps, 'engine' | 'models'> => ({
  ambient: systemAmbient,
  fetchImage: createImageFetcher({
    enabled: config.images.fetchEnabled,
    allowPrivate: config.images.fetchPrivate,
  }),
  observersOf: (ask, exchange) => [
    turnMetrics(metrics),
    turnTotal((turn) => exchange.note({ turn })),
    ...(config.log.content ? [contentLog(logger, exchange.requestId, ask.request)] : []),
  ],
  onObserverError: (err) => {
    metrics.observerErrors.inc();
    logger.error({ err }, 'an observer failed');
  },
  onBug: (err, { requestId }) => logger.error({ requestId, err }, 'a turn broke'),
  onFormatMismatch: ({ requestId }) => {
    metrics.formatMismatches.inc();
    logger.warn({ requestId }, 'the answer does not match the format that was asked for');
  },
  maxBodyBytes: config.http.maxBodyBytes,
  keepaliveMs: config.http.sseKeepaliveMs,
  strictParams: config.api.strictParams,
});
