import type { Path } from '../../../canonical/request/path.ts';
import type { TurnRequest } from '../../../canonical/request/turn-request.ts';
import { itemFacts } from '../../../canonical/request/item-facts.ts';
import type { Rejection } from '../../../canonical/failure/rejection.ts';
import { placeOf, wholeHistory, type History } from '../../../codex/translate/fit-history.ts';
import { quoted } from '../../../kit/text/display.ts';
import { isToolSearch, typeIs, type ToolRules } from '../../../codex/capabilities/tool-kinds.ts';
import type { ImageDetail } from '../../../canonical/request/item.ts';
import type { EditField } from '../../../codex/capabilities/profile.ts';
import { sendsVerbosity } from '../../../codex/translate/thread-start.ts';
import { TurnAttempt } from '../../attempt/turn-attempt.ts';
import { draftTurn, type DraftDeps } from '../../plan/draft-turn.ts';
import type { TurnDriver, DriverDeps } from '../driver.ts';
import { PreStartedThreads } from './pre-started-threads.ts';
import { RpcTurn } from './rpc-turn.ts';
import { safeNames } from './safe-names.ts';

/** The name that codex gives to every output schema. */
const CODEX_NAME = 'codex_output_schema';

/**
 * The fields of an output schema that codex changes: the app-server accepts only the bare
 * schema, and codex sends it under its own name, without a description, and always as strict.
 */
const changedByCodex = ({ format }: TurnRequest): readonly Path[] => {
  if (format.kind !== 'json-schema') return [];
  const { name, description, strict } = format;
  return [
    ...(name === CODEX_NAME ? [] : [{ formatField: 'name' }]),
    ...(description === null ? [] : [{ formatField: 'description' }]),
    ...(strict === false ? [{ formatField: 'strict' }] : []),
  ];
};

/** Items that are passed through unread and that the app-server keeps. It silently drops all others. */
const CODEX_KEEPS: ReadonlySet<string> = new Set(['web_search_call', 'image_generation_call']);

/** History items that the app-server would drop. */
const refusedItems = (history: History): readonly Rejection[] => {
  if (!itemFacts(history.items).hasRaw) return [];
  return history.items.flatMap((item, index): readonly Rejection[] => {
    if (!('raw' in item) || CODEX_KEEPS.has(item.raw.type)) return [];
    const why = `is of type '${quoted(item.raw.type)}', which needs the relay of this server (PROXY_WIRE)`;
    return [{ path: { item: placeOf(history, index) ?? index }, kind: 'unsupported_value', why }];
  });
};

/** The app-server declares the tools: it knows functions, and calls only what is declared to it. */
export const RPC_TOOLS: ToolRules = {
  whyRefused: ({ raw }) => `${typeIs(raw)}, which needs the relay of this server (PROXY_WIRE)`,
  // All tools are declared from the start.
  isLost: isToolSearch,
  keepsField: () => false,
  // Refused anyway.
  keepsModel: true,
  isMergedIntoTools: () => true,
  hasHostedMcp: false,
};

/** The app-server would replace an image of low detail by a sentence, so it is sent without its detail. */
const LOST_DETAILS: ReadonlySet<ImageDetail> = new Set<ImageDetail>(['low']);

/** Requests over JSON-RPC. What the app-server has no parameter for is named, or refused. */
export const rpcDraft =
  (deps: DraftDeps): TurnDriver['draft'] =>
  ({ request, context }, strategy, history = wholeHistory(request.items)) => {
    const names = safeNames(request);
    const turn = { request: names.renamed(request), context };
    const draft = draftTurn(turn, strategy, deps, {
      history: names.renamedHistory(history),
      reach: {
        takesFiles: false,
        images: 'whole',
        lostDetails: LOST_DETAILS,
        tools: RPC_TOOLS,
        says: (fitted) => saidByAppServer(fitted, deps.settings),
        changed: changedByCodex,
        refusedItems,
      },
    });
    return { ...draft, shown: (events) => names.shown(draft.shown(events)) };
  };

/** The app-server has parameters of its own for these two only. */
const saidByAppServer =
  (request: TurnRequest, settings: DraftDeps['settings']) =>
  (field: EditField): boolean =>
    field === 'service_tier' || (field === 'text.verbosity' && sendsVerbosity(request, settings));

/** Everything passes over JSON-RPC: the app-server writes the model request and reports the answer. */
export const rpcDriver = (deps: DriverDeps): TurnDriver => {
  const preStarted = new PreStartedThreads(deps.ambient.clock);
  const turnDeps = { settings: deps.settings, preStarted };
  // Nothing but the app-server watches the backend.
  const attemptDeps = { ...deps, graceMs: 0 };
  return {
    carries: {
      instructionsField: false,
      customTools: false,
      bothFormats: false,
      imageUrls: false,
      compactionTrigger: false,
    },
    draft: rpcDraft(deps),
    attempt: (lease, params) =>
      new TurnAttempt(attemptDeps, lease, new RpcTurn(turnDeps, lease, params), params),
    warm: async () => {},
    refresh() {},
    describe: () => ({ hasRelay: false, refuses: [] }),
  };
};
