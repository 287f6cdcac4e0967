import type { Failure } from '../canonical/failure/failure.ts';
import { accessTokenRejected, accessTokenUnconfirmed } from '../codex/failures/access-token.ts';
import { UNREAD_ITEM } from '../codex/home/environment.ts';
import type { CodexHomes } from '../codex/home/prepare-home.ts';
import { readLogin } from '../codex/login/read-login.ts';
import { createWorkerSpawner } from '../codex/worker/spawn-worker.ts';
import type { Worker } from '../codex/worker/worker.ts';
import { createWorkerPool, type WorkerPool, type WorkerPoolEvent } from '../codex/worker/supervisor.ts';
import { probed, type ProbeOptions } from '../engine/attempt/probe-worker.ts';
import type { TurnDriver } from '../engine/drivers/driver.ts';
import { systemAmbient } from '../kit/ambient.ts';
import { boundedLabel } from '../observe/metric-row.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { malformedLines, rpcMetrics } from '../observe/rpc-metrics.ts';
import { reportUnreadItems } from '../observe/upstream-losses.ts';
import { VERSION } from '../version.ts';
import type { BackendDeps } from './backend.ts';
import type { OpenModels } from './models.ts';
import type { PlacedRelay } from './relay.ts';
import type { Wiring } from './wiring.ts';

/** Maximum wait of a request for a worker. */
const WORKER_WAIT_MS = 15_000;

export interface PoolParts {
  readonly wiring: Pick<Wiring, 'reportsContent'>;
  readonly offered: OpenModels;
  /** Prepares each new process before it takes over. */
  readonly driver: Pick<TurnDriver, 'warm'>;
}

/** The app-server processes of one backend. */
export const createPool = (
  placed: PlacedRelay,
  { wiring, offered, driver }: PoolParts,
  { config, homes, logger, metrics, mcp, codexWatch, startWorker }: BackendDeps,
): WorkerPool => {
  const { backend } = placed;
  const unknownMethod = boundedLabel();
  const onUnreadItem = reportUnreadItems(metrics, logger);
  return createWorkerPool({
    spawnWorker: warmed(driver, {
      isLogin: backend.kind === 'login',
      spawn: createWorkerSpawner({
        start: startWorker,
        homes,
        backend,
        catalogue: () => offered.catalogue(),
        reportsContent: wiring.reportsContent,
        reportsTools: mcp.deployment.size > 0 || mcp.reach !== null,
        clientInfo: { name: 'codex-app-server-proxy', title: null, version: VERSION },
        onStderr: (line) => {
          logger.debug({ line }, 'app-server stderr');
          // With the relay the content does not come from codex.
          if (wiring.reportsContent && line.trimEnd().endsWith(UNREAD_ITEM)) onUnreadItem();
        },
        onVersion: (version) => codexWatch.started(version),
        onWarning: (text) => codexWatch.warned(text),
        onCall: rpcMetrics(metrics, logger),
        onUnknownNotification: (method) =>
          metrics.upstreamUnknownEvents.inc({ method: unknownMethod(method) }),
        onMalformedLine: malformedLines(metrics, logger),
        onListenerError: (err) => logger.error({ err }, 'a turn could not handle a notification'),
      }),
      workdir: config.codex.workDir,
      whyRejected:
        backend.kind === 'login' && backend.accessToken !== null
          ? async () => placed.tokenFailure() ?? (await unusedToken(homes))
          : null,
    }),
    size: config.worker.count,
    hangTimeoutMs: config.worker.hangTimeoutMs,
    maxThreads: config.worker.maxThreads,
    maxRssMb: config.worker.maxRssMb,
    maxHomeMb: config.worker.maxHomeMb,
    waitMs: WORKER_WAIT_MS,
    clock: systemAmbient.clock,
    onEvent: (event) => reportWorkerEvent(event, logger, metrics),
  });
};

/** codex checks the dates of agent tokens by itself. */
const unusedToken = async ({ login }: Pick<CodexHomes, 'login'>): Promise<Failure> => {
  const { expiresAt = null } = readLogin((await login.read()) ?? '') ?? {};
  const isOver = expiresAt !== null && expiresAt.getTime() <= systemAmbient.clock.now();
  return isOver ? accessTokenRejected() : accessTokenUnconfirmed();
};

/** Spawns workers that can serve at once. */
const warmed = (driver: Pick<TurnDriver, 'warm'>, options: ProbeOptions): (() => Promise<Worker>) => {
  const spawn = probed(options);
  return async () => {
    const worker = await spawn();
    await driver.warm(worker.appServer);
    return worker;
  };
};

const TROUBLE: ReadonlySet<WorkerPoolEvent['kind']> = new Set<WorkerPoolEvent['kind']>([
  'worker-ill',
  'worker-lost',
  'start-failed',
  'diagnostics-failed',
]);

const reportWorkerEvent = (event: WorkerPoolEvent, logger: Logger, metrics: Metrics): void => {
  const { kind, ...facts } = event;
  if (kind === 'worker-lost') metrics.workerRestarts.inc();
  if (kind === 'worker-worn') metrics.workerReplacements.inc();
  if (event.kind === 'worker-ill') metrics.workerHealthProblems.inc({ ailment: event.healthProblem });
  logger[TROUBLE.has(kind) ? 'warn' : 'info'](facts, kind);
};
