import type { Path } from '../canonical/path.ts';
import { refusedAmong, type Refusal } from '../canonical/refusal.ts';
import type { TurnRequest } from '../canonical/turn-request.ts';
import { lostOnLane } from '../codex/capabilities/lanes.ts';
import { hasHostedMcp, sortTools } from '../codex/capabilities/mcp-tools.ts';
import { refusedItems } from '../codex/capabilities/raw-items.ts';
import { refusedTools } from '../codex/capabilities/tool-kinds.ts';
import { refusedToolNames } from '../codex/capabilities/tool-names.ts';
import { unsaidOf } from '../codex/capabilities/wants.ts';
import { willSay } from '../codex/capabilities/way.ts';
import type { Relay } from '../codex/relay/relay.ts';
import type { Approach } from '../codex/translate/approach.ts';
import { fitEffort } from '../codex/translate/fit-effort.ts';
import { withoutFiles } from '../codex/translate/fit-files.ts';
import {
  fitHistory,
  wholeHistory,
  withoutReasoning,
  type HistoryRules,
} from '../codex/translate/fit-history.ts';
import { mcpHistory, type McpHistory } from '../codex/translate/mcp-history.ts';
import { saysVerbosity, type ThreadSettings } from '../codex/translate/thread-start.ts';
import type { McpAccess } from './mcp-access.ts';
import type { McpWish } from './mcp-turn.ts';

/** What is known of the backend before it is asked. */
export interface DraftDeps {
  /** Null: the app-server talks to its backend directly. */
  readonly relay: Pick<Relay, 'profile' | 'refusedFor'> | null;
  /** What the backend takes of a history. */
  readonly historyRules: HistoryRules;
  /** The efforts of a model, where its backend refuses others; null: not known. */
  readonly effortsOf: (model: string) => readonly string[] | null;
  readonly settings: Pick<ThreadSettings, 'knows'>;
  readonly mcp: McpAccess;
}

/** A request as it is put before its backend in one way. */
export interface Draft {
  readonly approach: Approach;
  /** What its backend takes of it. */
  readonly request: TurnRequest;
  readonly mcp: McpWish;
  /** What only a field of the backend's request could say, and none will. */
  readonly unsaid: readonly Path[];
  /** What is left out or changed beside that. */
  readonly leftOut: readonly Path[];
  readonly refused: readonly Refusal[];
}

export const draftTurn = (request: TurnRequest, approach: Approach, deps: DraftDeps): Draft => {
  const { relay, historyRules, effortsOf, settings } = deps;
  const takesFiles = relay?.profile.takes.has('input_file') === true;
  const files = takesFiles ? { items: request.items, refused: [] } : withoutFiles(request.items);

  const sorted = sortTools(request.tools, {
    choice: request.toolChoice,
    canApprove: request.canApprove,
    policy: { deployment: deps.mcp.deployment, takesClients: deps.mcp.reach !== null },
    profile: relay?.profile ?? null,
  });
  const isOurs = (label: string): boolean =>
    deps.mcp.deployment.has(label) || deps.mcp.reach !== null || !hasHostedMcp(relay?.profile ?? null);
  const whole = mcpHistory(wholeHistory(files.items), isOurs);
  const rest = approach.reasoning === 'kept' ? null : withoutReasoning(whole);
  const { items, ignored } = fitHistory(rest ?? whole, {
    ...historyRules,
    images: relay === null ? 'whole' : 'any',
  });
  const effort = fitEffort(request.reasoning.effort, effortsOf(request.model));
  const fitted = {
    ...request,
    items,
    tools: sorted.tools,
    reasoning: { ...request.reasoning, effort },
  };
  const says = willSay(request, {
    profile: relay?.profile ?? null,
    lane: approach.lane,
    refuses: relay?.refusedFor(fitted) ?? new Set(),
    saysVerbosity: saysVerbosity(request, settings),
  });
  const unsaid = unsaidOf(request, says);
  const leftOut: readonly Path[] = [
    ...[...(rest?.ignored ?? []), ...ignored].map((item) => ({ item })),
    ...(effort === request.reasoning.effort ? [] : (['reasoning.effort'] as const)),
    ...lostOnLane(request, approach.lane, relay !== null),
  ];
  return {
    approach,
    request: fitted,
    mcp: {
      uses: sorted.uses,
      listed: whole.listed,
      approved: whole.approved,
      maxCalls: request.maxToolCalls,
    },
    unsaid,
    leftOut,
    refused: [
      ...sorted.refused,
      ...whole.refused,
      ...unusable(whole, sorted.uses, request),
      ...refusedTools(request.tools, { profile: relay?.profile ?? null, lane: approach.lane }),
      ...refusedItems(whole, relay !== null),
      ...files.refused,
      ...refusedToolNames(request.tools, relay !== null),
      ...(items.length === 0 && request.items.length > 0 ? [NOTHING_LEFT] : []),
      ...refusedAmong(request, [...unsaid, ...leftOut]),
    ],
  };
};

/** Calls that were agreed to, of servers that are not among the tools of the request. */
const unusable = (
  { approved }: McpHistory,
  uses: McpWish['uses'],
  { items }: TurnRequest,
): readonly Refusal[] =>
  approved
    .filter(({ label }) => !uses.some(({ server }) => server.label === label))
    .map(({ label }) => ({
      path: { item: items.length - 1 },
      kind: 'invalid_value',
      why: `a call of the MCP server '${label}' was approved, and that server is not among the tools.`,
    }));

const NOTHING_LEFT: Refusal = {
  path: { item: 0 },
  kind: 'invalid_value',
  why: 'nothing is left of the input. Reasoning is not stored here, and without its encrypted content it cannot be sent.',
};
