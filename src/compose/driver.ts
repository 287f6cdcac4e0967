import type { BackendTarget } from '../codex/home/backend.ts';
import { CHATGPT_HISTORY, OTHER_HISTORY } from '../codex/translate/fit-history.ts';
import type { ReasoningOrigin } from '../engine/memory/reasoning-origins.ts';
import { systemAmbient } from '../kit/ambient.ts';
import { reportAnomalies } from '../observe/upstream-losses.ts';
import type { BackendDeps } from './backend.ts';
import type { OpenModels } from './models.ts';
import type { Wiring } from './wiring.ts';

/** What a driver needs for this backend. */
export const driverDeps = (
  chosen: BackendTarget,
  { offered, origin }: { readonly offered: Pick<OpenModels, 'current'>; readonly origin: ReasoningOrigin },
  {
    config,
    metrics,
    logger,
    mcp,
    unread,
  }: Pick<BackendDeps, 'config' | 'metrics' | 'logger' | 'mcp' | 'unread'>,
): Parameters<Wiring['driver']>[0] => {
  const isChatgpt = chosen.kind === 'login' && chosen.login === 'chatgpt';
  return {
    historyRules: { ...(isChatgpt ? CHATGPT_HISTORY : OTHER_HISTORY), isForeign: origin.isForeign },
    effortsOf: (model) => (isChatgpt ? offered.current().effortsOf(model) : null),
    slugOf: (name) => offered.current().slugOf(name),
    settings: {
      instructionsTarget: config.api.instructionsTarget,
      sandboxMode: config.codex.sandboxMode,
      approvalPolicy: config.codex.approvalPolicy,
      workdir: config.codex.workDir,
      knows: (model) => offered.current().knows(model),
    },
    preStart: {
      max: config.worker.preStart,
      expected() {
        const models = offered.current();
        return models.list.standard === null ? null : models.slugOf(models.list.standard);
      },
      onEnd: (fate) => metrics.preStartedTurns.inc({ fate }),
      onMiss: () => metrics.preStartedMisses.inc(),
      onChange: (waiting, idle) => {
        metrics.preStartedWaiting.set(waiting);
        metrics.idleThreads.set(idle);
      },
    },
    mcp,
    idleTimeoutMs: config.upstream.idleTimeoutMs,
    unread,
    ambient: systemAmbient,
    onAnomaly: reportAnomalies(metrics, logger),
  };
};
