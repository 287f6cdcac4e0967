import { choiceInstruction, isForced } from '../../canonical/request/tool.ts';
import type { ImageDetail } from '../../canonical/request/item.ts';
import type { Path } from '../../canonical/request/path.ts';
import { rejectionsFor, type Rejection } from '../../canonical/failure/rejection.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import type { Turn } from '../../canonical/context/turn-context.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { lostInFormat } from '../../codex/capabilities/request-formats.ts';
import { sortTools } from '../../codex/capabilities/mcp-tools.ts';
import { lostToolFields, refusedTools, type ToolRules } from '../../codex/capabilities/tool-kinds.ts';
import { ineffectiveSettings } from '../../codex/capabilities/requested-fields.ts';
import type { EditField } from '../../codex/capabilities/profile.ts';
import type { RequestStrategy } from '../../codex/translate/request-strategy.ts';
import { fitEffort } from '../../codex/translate/fit-effort.ts';
import { withoutFiles } from '../../codex/translate/fit-files.ts';
import {
  fitHistory,
  wholeHistory,
  withoutReasoning,
  type History,
  type HistoryRules,
} from '../../codex/translate/fit-history.ts';
import { mergeLoadedTools, withoutNamespaces } from '../../codex/translate/fit-tools.ts';
import { inMcpNamespace, mcpHistory, type McpHistory } from '../../codex/translate/mcp-history.ts';
import type { KnownModels } from '../../codex/translate/thread-start.ts';
import { customAgain, hasCustomTools, withoutCustomTools } from './custom-as-functions.ts';
import type { McpAccess } from '../mcp/mcp-tools.ts';
import type { McpWish } from '../mcp/mcp-turn.ts';

/** What is known about the backend before a request. */
export interface BackendRules {
  readonly historyRules: HistoryRules;
  /** The efforts of a model, if its backend rejects others; null: not known. */
  readonly effortsOf: (model: string) => readonly string[] | null;
}

export interface DraftDeps extends BackendRules {
  readonly settings: KnownModels;
  readonly mcp: McpAccess;
}

/** What the requests of a driver can say to the backend. */
export interface Reach {
  readonly takesFiles: boolean;
  readonly images: NonNullable<HistoryRules['images']>;
  readonly lostDetails: ReadonlySet<ImageDetail>;
  readonly tools: ToolRules;
  /** Whether a field of the model request carries the value of this request. */
  says(request: TurnRequest): (field: EditField) => boolean;
  /** Parts that reach the backend in another form. */
  changed(request: TurnRequest): readonly Path[];
  refusedItems(history: History): readonly Rejection[];
}

/** A request for the backend by one strategy. */
export interface Draft {
  readonly strategy: RequestStrategy;
  /** The request without what the backend does not take. */
  readonly request: TurnRequest;
  /** Turns the events of that request into those for the caller. */
  readonly shown: (events: AsyncIterable<TurnEvent>) => AsyncIterable<TurnEvent>;
  readonly mcp: McpWish;
  /** Settings for which the backend's request has no field. */
  readonly unsaid: readonly Path[];
  /** Other parts that are left out or changed. */
  readonly leftOut: readonly Path[];
  readonly refused: readonly Rejection[];
}

export interface DraftOptions {
  readonly reach: Reach;
  /** The conversation, with restored reasoning; else as the client sent it. */
  readonly history?: History | undefined;
}

/** The part of drafting that all drivers share. */
export const draftTurn = (
  { request }: Turn,
  strategy: RequestStrategy,
  { historyRules, effortsOf, mcp }: DraftDeps,
  { reach, history: given = wholeHistory(request.items) }: DraftOptions,
): Draft => {
  const { hasHostedMcp } = reach.tools;
  const files = reach.takesFiles ? { history: given, refused: [] } : withoutFiles(given);
  const sorted = sortTools(request.tools, {
    choice: request.toolChoice,
    canApprove: request.canApprove,
    policy: { deployment: mcp.deployment, allowsClientServers: mcp.reach !== null },
    hasHostedMcp,
  });
  const whole = mcpHistory(files.history, (label) =>
    mcp.deployment.has(label) || mcp.reach !== null || !hasHostedMcp ? inMcpNamespace : null,
  );
  const rest = withoutReasoning(whole, strategy.reasoning === 'kept' ? historyRules.isForeign : () => true);
  const { ignored, ...history } = fitHistory(rest ?? whole, { ...historyRules, images: reach.images });
  const { items } = history;
  const effort = fitEffort(request.reasoning.effort, effortsOf(request.model));
  const flat = strategy.namespaces === 'kept' ? null : withoutNamespaces(history);
  const lifted = mergeLoadedTools(
    { items: flat?.items ?? items, tools: sorted.tools },
    (item) =>
      reach.tools.isMergedIntoTools(item) || (item.isOurs === true && strategy.lateTools === 'in-list'),
  );
  const fitted = { ...request, ...lifted, reasoning: { ...request.reasoning, effort } };
  const says = reach.says(fitted);
  const unsaid = ineffectiveSettings(fitted, says);
  const leftOut: readonly Path[] = [
    ...[...(rest?.ignored ?? []), ...ignored].map((item) => ({ item })),
    ...(effort === request.reasoning.effort ? [] : (['reasoning.effort'] as const)),
    ...lostInFormat(request, strategy.requestFormat, reach.lostDetails),
    ...lostToolFields(request, reach.tools),
    ...reach.changed(request),
    ...sorted.ignored,
    ...(flat?.ignored ?? []),
  ];
  const sent = insisting(fitted, says('tool_choice'));
  const usesFunctions = strategy.customTools === 'functions' && hasCustomTools(sent);
  return {
    strategy,
    request: usesFunctions ? withoutCustomTools(sent) : sent,
    shown: (events) => (usesFunctions ? customAgain(events, sent) : events),
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
      ...refusedTools(request, reach.tools, strategy.requestFormat),
      ...reach.refusedItems(whole),
      ...files.refused,
      ...(items.length === 0 && request.items.length > 0 ? [NOTHING_LEFT] : []),
      ...rejectionsFor(request, [...unsaid, ...leftOut]),
    ],
  };
};

/** Approved calls of servers that are not among the tools of the request. */
const unusable = (
  { approved }: McpHistory,
  uses: McpWish['uses'],
  { items }: TurnRequest,
): readonly Rejection[] =>
  approved
    .filter(({ label }) => !uses.some(({ server }) => server.label === label))
    .map(({ label }) => ({
      path: { item: items.length - 1 },
      kind: 'invalid_value',
      why: `a call of the MCP server '${label}' was approved, but that server is not among the tools.`,
    }));

const NOTHING_LEFT: Rejection = {
  path: { item: 0 },
  kind: 'invalid_value',
  why: 'it contains only reasoning without encrypted content: send its encrypted content, or other items.',
};

/** Adds a message about a forced call, if the request has no field for it or the model ignored that. */
const insisting = (request: TurnRequest, isSaid: boolean): TurnRequest => {
  const { toolChoice, insists, items } = request;
  if (!isForced(toolChoice) || (isSaid && insists !== true) || items.length === 0) return request;
  const text = choiceInstruction(toolChoice);
  return {
    ...request,
    items: [...items, { kind: 'message', role: 'developer', parts: [{ kind: 'text', text }] }],
  };
};
