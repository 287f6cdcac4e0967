import type { Relay } from '../../../codex/relay/server/relay.ts';
import { TurnAttempt } from '../../attempt/turn-attempt.ts';
import { REPORT_MS } from '../../attempt/turn-watch.ts';
import type { TurnDriver } from '../driver.ts';
import type { DriverDeps } from '../driver-deps.ts';
import { CarriedTurn } from './carried-turn.ts';
import { Carrier } from './carrier.ts';
import { plainPlan } from './carrier-plans.ts';
import { relayDraft } from './draft.ts';
import { PreStartedTurns, type PreStartedTurnsOptions } from './pre-started-turns.ts';

export interface RelayDriverDeps extends DriverDeps {
  readonly relay: Relay;
  /** The entry of the model catalogue that codex uses for a model name. */
  readonly slugOf: (name: string) => string;
  readonly preStart: Pick<PreStartedTurnsOptions, 'max' | 'expected' | 'onEnd' | 'onMiss' | 'onChange'>;
}

/** The relay writes the model request and reads the answer; the app-server carries it. */
export const relayDriver = (deps: RelayDriverDeps): TurnDriver => {
  const { relay, settings, slugOf, ambient } = deps;
  const { takes, takesImageUrls } = relay.profile;
  const planDeps = { relay, settings, ids: ambient.ids };
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
