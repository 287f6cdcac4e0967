import type { ImageDetail } from '../../../canonical/request/item.ts';
import type { TurnRequest } from '../../../canonical/request/turn-request.ts';
import type { EditField } from '../../../codex/capabilities/profile.ts';
import { wholeHistory } from '../../../codex/translate/fit-history.ts';
import { sendsVerbosity } from '../../../codex/translate/thread-start.ts';
import { draftTurn, type DraftDeps } from '../../plan/draft-turn.ts';
import type { TurnDriver } from '../driver.ts';
import { changedByCodex } from './changed-format.ts';
import { refusedItems } from './refused-items.ts';
import { safeNames } from './safe-names.ts';
import { RPC_TOOLS } from './tool-rules.ts';

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
