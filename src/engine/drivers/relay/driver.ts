import type { Relay } from '../../../codex/relay/server/relay.ts';
import { TurnAttempt } from '../../attempt/turn-attempt.ts';
import type { TurnDriver } from '../driver.ts';
import type { DriverDeps } from '../driver-deps.ts';
import { relayDraft } from './draft.ts';

/** The relay writes the model request and reads the answer; the app-server carries it. */
export const relayDriver = (relay: Relay, deps: DriverDeps): TurnDriver => {
  const { takes, takesImageUrls } = relay.profile;
  const attemptDeps = { ...deps, relay, settings: { ...deps.settings, hasRelay: true } };
  return {
    carries: {
      instructionsField: true,
      customTools: true,
      bothFormats: true,
      imageUrls: takesImageUrls,
      compactionTrigger: takes.has('compaction_trigger'),
    },
    draft: relayDraft(relay, deps),
    attempt: (lease, params) => new TurnAttempt(attemptDeps, lease, params),
    describe: ({ request, context }) => ({
      hasRelay: true,
      refuses: [...relay.refusedFor(request, context)],
    }),
  };
};
