import { stat } from 'node:fs/promises';

import type { Core, Own } from '../../../compose/feature.ts';
import { toAccessLine } from '../../../observe/request-end.ts';
import { RESPONSES_PATH } from '../../../openai/responses/api.ts';
import type { AGENT_TABLES } from '../feature.ts';
import type { AgentRuns } from '../run/port.ts';
import { agentStoreOf } from '../store/agent-store.ts';
import type { AgentStore } from '../store/port.ts';
import type { WorkspaceAccess } from '../workspaces/access.ts';
import { OpenTurns } from './open-turns.ts';
import { sessionRoutes } from './routes.ts';
import { StoredAgents } from './saved-agents.ts';
import type { AgentSessions } from './service.ts';
import { SessionChanges } from './session-changes.ts';
import { SessionEvents } from './session-events.ts';
import { SessionTurns } from './session-turns.ts';
import { SessionWatch } from './session-watch.ts';
import { SessionsService } from './sessions-service.ts';

export interface OpenSessionsDeps {
  readonly runs: AgentRuns;
  readonly access: WorkspaceAccess;
}

export interface OpenSessions {
  readonly sessions: AgentSessions;
  readonly routes: ReturnType<typeof sessionRoutes>;
  start(): void;
  drain(timeoutMs: number): Promise<void>;
  close(): void;
}

const CLOSING = new Error('the server stops');

/** The Agents API. Null: this server stores nothing. */
export const openSessions = (
  core: Core,
  { metrics, offers }: Own<typeof AGENT_TABLES>,
  { runs, access }: OpenSessionsDeps,
): OpenSessions | null => {
  if (core.store === null) return null;
  const store = agentStoreOf(core.store);
  const { ambient, agentLimits: limits, logger, workspaces, storeTtlMs: ttlMs } = core;
  const { leaseEveryMs } = core.times;
  const responses = core.apis.find(({ path }) => path === RESPONSES_PATH);
  if (responses === undefined) throw new Error('the Responses API is not served');
  const onError = (err: unknown): void => logger.warn({ err }, 'a session of an agent could not be written');
  const rules = { ...ambient, ttlMs, actionTimeoutMs: limits.actionTimeoutMs };
  const openTurns = countedTurns(store, metrics, onError);
  const changes = new SessionChanges(store.agentSessions, rules, {
    onChanged: (row) => openTurns.changed(row),
    onEnded: (end) => metrics.agentTurns.inc({ end }),
    onDecision({ answer, waitedMs }) {
      metrics.agentApprovals.inc({ answer });
      metrics.agentApprovalSeconds.observe(waitedMs / 1000);
    },
  });
  const turns: SessionTurns = new SessionTurns({
    store: store.agentSessions,
    changes,
    runs,
    workspaces,
    access,
    maxTurns: limits.maxTurns,
    turnTimeoutMs: limits.turnTimeoutMs,
    ttlMs,
    ambient,
    bodies: core.bodies.bodies,
    instance: ambient.ids.mint('inst'),
    engine: () => core.engine(),
    turns: () => core.turns(),
    observer: () => core.observer(),
    responses,
    watch: () => watch,
    onEnded: (end) => logger.info({ turnId: end.backgroundId, ...toAccessLine(end) }, 'step of an agent'),
    onBug: (err, requestId) => logger.error({ err, requestId }, 'a step of an agent failed unexpectedly'),
    onCommand(status, chars) {
      metrics.agentCommands.inc({ status });
      metrics.agentOutputBytes.inc({}, chars);
    },
    onError,
    ...(leaseEveryMs === undefined ? {} : { leaseEveryMs }),
  });
  const watch = new SessionWatch(
    (onChange) => store.watch(onChange),
    (id) => {
      turns.schedule();
      openTurns.heard(id);
    },
  );
  const events = new SessionEvents({ sessions: store.agentSessions, events: store.agentEvents, watch });
  const closing = new AbortController();
  const sessions = new SessionsService({
    store,
    changes,
    events,
    rules,
    ambient,
    limits,
    access,
    workspaces,
    gate: offers.gate,
    models: core.models,
    isDraining: () => turns.isDraining,
    closing: closing.signal,
    onCreated(row) {
      metrics.agentSessions.inc();
      openTurns.changed(row);
    },
  });
  const agents = new StoredAgents({
    store: store.savedAgents,
    ambient,
    ttlMs,
    mayKeep: (keyId) => offers.gate.keep(keyId),
    checkModel: (...asked) => sessions.checkModel(...asked),
  });
  return {
    sessions,
    routes: sessionRoutes({
      sessions,
      agents,
      bodies: core.bodies,
      turns: () => core.turns(),
      access,
      isThere: async ({ path }) =>
        stat(path).then(
          (found) => found.isDirectory(),
          () => false,
        ),
    }),
    start: () => turns.start(),
    async drain(timeoutMs) {
      await turns.drain(timeoutMs);
      // Those that follow have seen the ends of turns.
      closing.abort(CLOSING);
    },
    close() {
      closing.abort(CLOSING);
      watch.close();
    },
  };
};

const countedTurns = (
  { agentSessions }: AgentStore,
  metrics: Own<typeof AGENT_TABLES>['metrics'],
  onError: (error: unknown) => void,
): OpenTurns =>
  new OpenTurns({
    find: (owner, id) => agentSessions.find(owner, id),
    onCount: (status, count) => metrics.agentTurnsOpen.set({ status }, count),
    onError,
  });
