import { reachesBackend } from '../../../codex/capabilities/field-support.ts';
import { toolRulesOf } from '../../../codex/capabilities/tool-kinds.ts';
import type { Relay } from '../../../codex/relay/server/relay.ts';
import { draftTurn, type DraftDeps } from '../../plan/draft-turn.ts';
import type { TurnDriver } from '../driver.ts';

/** Requests that the relay writes: only the backend limits what they can carry. */
export const relayDraft = (
  relay: Pick<Relay, 'profile' | 'refusedFor'>,
  deps: DraftDeps,
): TurnDriver['draft'] => {
  const { profile } = relay;
  const tools = toolRulesOf(profile);
  return (turn, strategy, history) =>
    draftTurn(turn, strategy, deps, {
      history,
      reach: {
        takesFiles: profile.takes.has('input_file'),
        images: 'any',
        lostDetails: new Set(),
        tools,
        says: (fitted) =>
          reachesBackend(fitted, {
            profile,
            requestFormat: strategy.requestFormat,
            refuses: relay.refusedFor(fitted, turn.context),
          }),
        changed: () => [],
        refusedItems: () => [],
      },
    });
};
