import { TurnAttempt } from '../../attempt/turn-attempt.ts';
import type { TurnDriver } from '../driver.ts';
import type { DriverDeps } from '../driver-deps.ts';
import { rpcDraft } from './draft.ts';
import { PreStartedThreads } from './pre-started-threads.ts';
import { RpcTurn } from './rpc-turn.ts';

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
