import type { ModelBudget } from '../canonical/context/model-budget.ts';
import type { Steering, Turn } from '../canonical/context/turn-context.ts';
import { mapAll, type OneOrMore } from '../kit/collections/lists.ts';
import { requestsOf, type ParsedRequest } from './api.ts';
import { conversationKey } from './conversation-key.ts';
import type { RunCall, RunDeps } from './run-deps.ts';

interface TurnDeps {
  readonly deps: RunDeps;
  readonly steering: Steering | null;
  readonly openBudget: () => ModelBudget;
}

/** The turns of a request, if the key may run them. */
export const turnsOf = async (
  parsed: ParsedRequest,
  call: RunCall,
  { deps, openBudget, steering }: TurnDeps,
): Promise<OneOrMore<Turn>> => {
  const { caller, session, state, trace, traceContext, isSteered } = call;
  const requests = await deps.gate.allow({
    caller,
    requests: requestsOf(parsed),
    nameOf: (path) => parsed.nameOf(path),
  });
  return mapAll(requests, (one): Turn => ({
    request: deps.strictParams ? { ...one, isStrict: true } : one,
    context: {
      caller: { keyId: caller },
      conversation:
        state.cacheKey ?? conversationKey(one, { caller, session: session ?? parsed.session ?? null }),
      budget: openBudget(),
      trace,
      ...(isUnstored(parsed) ? { isUnstored: true } : {}),
      ...(steering === null ? {} : { steering }),
      ...(traceContext === null ? {} : { traceContext }),
      ...(isSteered === undefined ? {} : { isSteered }),
    },
  }));
};

/** `store: false` is an explicit choice of a Responses client; for Chat it is the default. */
const isUnstored = ({ keeps }: ParsedRequest): boolean => keeps?.kind === 'response' && !keeps.isStored;
