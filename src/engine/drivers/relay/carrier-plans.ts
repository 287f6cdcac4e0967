import type { TurnRequest } from '../../../canonical/request/turn-request.ts';
import type { AppServer } from '../../../codex/app-server.ts';
import type { RelayTurns } from '../../../codex/relay/server/relay.ts';
import { placeholderItem } from '../../../codex/translate/inject-items.ts';
import {
  developerInstructionsOf,
  toCarrierStart,
  type ThreadSettings,
} from '../../../codex/translate/thread-start.ts';
import { toCarrierTurnStart, toReviewStart } from '../../../codex/translate/turn-start.ts';
import type { Clock, IdSource } from '../../../kit/ambient.ts';
import { startReview, startTurn, type EarlierCall } from '../../attempt/app-server-turn.ts';
import type { McpTurn } from '../../mcp/mcp-turn.ts';
import type { Carrier, CarrierPlan, CarrierThread, Continuing } from './carrier.ts';

export interface CarrierPlanDeps {
  readonly relay: RelayTurns;
  readonly settings: ThreadSettings;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly continuing: Continuing;
}

/** A turn that can carry any request with this catalogue entry. */
export const plainPlan = (
  appServer: AppServer,
  slug: string,
  thread: CarrierThread | null,
  { relay, settings, ids, clock, continuing }: CarrierPlanDeps,
): CarrierPlan => {
  // Unguessable: no client can write an item with this id.
  const placeholder = ids.mint('px');
  return {
    appServer,
    relay,
    clock,
    continuing,
    thread,
    slug,
    placeholder,
    startThread: () => threadIdOf(appServer.request('thread/start', toCarrierStart(slug, settings))),
    prepare: (threadId) => inject(appServer, threadId, placeholder),
    startTurn: (threadId) => startTurn(appServer, toCarrierTurnStart(threadId)),
  };
};

/** A turn with MCP servers, which start with its thread. `prepare` runs when they are ready. */
export const mcpPlan = (
  appServer: AppServer,
  slug: string,
  { mcp, prepare }: { readonly mcp: McpTurn; readonly prepare: (threadId: string) => Promise<void> },
  deps: CarrierPlanDeps,
): CarrierPlan => {
  const plan = plainPlan(appServer, slug, null, deps);
  return {
    ...plan,
    startThread: () =>
      threadIdOf(mcp.startThread(appServer, toCarrierStart(slug, deps.settings, mcp.config))),
    async prepare(threadId) {
      await prepare(threadId);
      await plan.prepare(threadId);
    },
  };
};

/** A review: the app-server writes its input. */
export const reviewPlan = (
  appServer: AppServer,
  slug: string,
  request: TurnRequest,
  { relay, settings, clock, continuing }: CarrierPlanDeps,
): CarrierPlan => {
  const developerInstructions = developerInstructionsOf(request, settings);
  const start = {
    ...toCarrierStart(slug, settings),
    ...(developerInstructions === null ? {} : { developerInstructions }),
  };
  return {
    appServer,
    relay,
    clock,
    continuing,
    thread: null,
    slug,
    placeholder: null,
    startThread: () => threadIdOf(appServer.request('thread/start', start)),
    prepare: async () => {},
    startTurn: (threadId) => startReview(appServer, toReviewStart(request, threadId)),
  };
};

/** The calls of a plain turn, for the capture of the request that uses it. */
export const earlierCalls = (
  { thread, turnId, placeholder }: Carrier,
  settings: ThreadSettings,
): readonly EarlierCall[] => {
  const { threadId } = thread;
  const items = [placeholderItem(placeholder ?? '')];
  return [
    threadStartOf(thread, settings),
    { method: 'thread/inject_items', params: { threadId, items }, result: {} },
    { method: 'turn/start', params: toCarrierTurnStart(threadId), result: { turn: { id: turnId } } },
  ];
};

export const threadStartOf = ({ threadId, slug }: CarrierThread, settings: ThreadSettings): EarlierCall => ({
  method: 'thread/start',
  params: toCarrierStart(slug, settings),
  result: { thread: { id: threadId } },
});

const threadIdOf = async (starting: Promise<{ readonly thread: { readonly id: string } }>) =>
  (await starting).thread.id;

const inject = async (appServer: AppServer, threadId: string, placeholder: string): Promise<void> => {
  await appServer.request('thread/inject_items', { threadId, items: [placeholderItem(placeholder)] });
};
