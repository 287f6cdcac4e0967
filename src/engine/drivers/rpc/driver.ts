import { TurnAttempt } from '../../attempt/turn-attempt.ts';
import type { TurnDriver } from '../driver.ts';
import type { DriverDeps } from '../driver-deps.ts';
import { rpcDraft } from './draft.ts';

/** Everything passes over JSON-RPC: the app-server writes the model request and reports the answer. */
export const rpcDriver = (deps: DriverDeps): TurnDriver => {
  const attemptDeps = { ...deps, relay: null, settings: { ...deps.settings, hasRelay: false } };
  return {
    carries: {
      instructionsField: false,
      customTools: false,
      bothFormats: false,
      imageUrls: false,
      compactionTrigger: false,
    },
    draft: rpcDraft(deps),
    attempt: (lease, params) => new TurnAttempt(attemptDeps, lease, params),
    describe: () => ({ hasRelay: false, refuses: [] }),
  };
};
