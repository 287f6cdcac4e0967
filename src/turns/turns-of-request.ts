import type { Turn } from '../canonical/context/turn-context.ts';
import { mapAll, type OneOrMore } from '../kit/collections/one-or-more.ts';
import { requestsOf, type ParsedRequest } from './api.ts';
import { conversationKey } from './conversation-key.ts';
import type { Owned } from './owned.ts';
import type { RunCall, RunDeps } from './run-deps.ts';

/** The turns of a request. A stream can be steered until it ends. */
export const turnsOf = (
  parsed: ParsedRequest,
  call: RunCall,
  { deps, owned }: { readonly deps: RunDeps; readonly owned: Owned },
): OneOrMore<Turn> => {
  const { caller, session, state, trace, traceContext, isSteered } = call;
  const running = parsed.stream && parsed.id !== undefined ? deps.running.open(parsed.id, caller) : null;
  owned.add(() => running?.end());
  return mapAll(requestsOf(parsed), (one): Turn => ({
    request: deps.strictParams ? { ...one, isStrict: true } : one,
    context: {
      caller: { keyId: caller },
      conversation:
        state.cacheKey ?? conversationKey(one, { caller, session: session ?? parsed.session ?? null }),
      budget: deps.openBudget(call, trace),
      trace,
      ...(isUnstored(parsed) ? { isUnstored: true } : {}),
      ...(running === null ? {} : { onSteerable: (steer) => running.onSteerable(steer) }),
      ...(traceContext === null ? {} : { traceContext }),
      ...(isSteered === undefined ? {} : { isSteered }),
    },
  }));
};

/** `store: false` is an explicit choice of a Responses client; for Chat it is the default. */
const isUnstored = ({ keeps }: ParsedRequest): boolean => keeps?.kind === 'response' && !keeps.isStored;
