import type { Relay, RelayBackend } from '../../../codex/relay/server/relay.ts';
import { reachesBackend } from '../../../codex/capabilities/field-support.ts';
import { toolRulesOf } from '../../../codex/capabilities/tool-kinds.ts';
import { TurnAttempt, REPORT_MS } from '../../attempt/turn-attempt.ts';
import { draftTurn, type DraftDeps } from '../../plan/draft-turn.ts';
import type { TurnDriver, DriverDeps } from '../driver.ts';
import { CarriedTurn } from './carried-turn.ts';
import { Carrier } from './carrier.ts';
import { plainPlan } from './carrier-plans.ts';
import { PreStartedTurns, type PreStartRules } from './pre-started-turns.ts';

/** Requests that the relay writes: only the backend limits what they can carry. */
export const relayDraft = (relay: RelayBackend, deps: DraftDeps): TurnDriver['draft'] => {
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

export interface RelayDriverDeps extends DriverDeps {
  readonly relay: Relay;
  /** The entry of the model catalogue that codex uses for a model name. */
  readonly slugOf: (name: string) => string;
  readonly preStart: PreStartRules;
  /** The app-server completes turns that it was to continue. */
  readonly onNotContinued: () => void;
}

/** The relay writes the model request and reads the answer; the app-server carries it. */
export const relayDriver = (deps: RelayDriverDeps): TurnDriver => {
  const { relay, settings, slugOf, ambient } = deps;
  const { takes, takesImageUrls } = relay.profile;
  const planDeps = {
    relay,
    settings,
    ...ambient,
    continuing: { works: true, onStopped: deps.onNotContinued },
  };
  const preStarted = new PreStartedTurns({
    ...deps.preStart,
    clock: ambient.clock,
    start: (appServer, slug, thread) => Carrier.start(plainPlan(appServer, slug, thread, planDeps)),
  });
  const turnDeps = { ...planDeps, preStarted, slugOf };
  // The relay watches the backend; the app-server may report later what it has read.
  const attemptDeps = { ...deps, graceMs: REPORT_MS };
  return {
    carries: {
      instructionsField: true,
      customTools: true,
      bothFormats: true,
      imageUrls: takesImageUrls,
      compactionTrigger: takes.has('compaction_trigger'),
    },
    draft: relayDraft(relay, deps),
    attempt: (lease, params) =>
      new TurnAttempt(attemptDeps, lease, new CarriedTurn(turnDeps, lease, params), params),
    warm: (appServer) => preStarted.warm(appServer),
    refresh: () => preStarted.refresh(),
    describe: ({ request, context }) => ({
      hasRelay: true,
      refuses: [...relay.refusedFor(request, context)],
    }),
  };
};
