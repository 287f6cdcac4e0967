import { measured } from '../canonical/context/measured.ts';
import type { Turn } from '../canonical/context/turn-context.ts';
import { mapAll, type OneOrMore } from '../kit/collections/lists.ts';
import type { ParsedRequest } from './api.ts';
import type { Owned } from './owned.ts';
import type { RunCall, RunDeps } from './run-deps.ts';
import type { GateAsk, GatePass } from './turn-gate.ts';

interface Entering {
  readonly deps: Pick<RunDeps, 'gate'>;
  readonly owned: Owned;
  readonly signal: AbortSignal;
  readonly asked: GateAsk['asked'];
}

/**
 * Reserves what the turns may use. The run gives it back when it ends, even if that is before the reservation is made. It
 * may reject before it is awaited.
 */
export const enterGate = (
  turns: OneOrMore<Turn>,
  parsed: ParsedRequest,
  { caller, held, state, trace }: RunCall,
  { deps, owned, signal, asked }: Entering,
): Promise<GatePass> => {
  const entering = measured(trace.begin('reserve'), () =>
    deps.gate.enter({
      caller,
      requests: mapAll(turns, ({ request }) => request),
      choices: parsed.choices,
      bytes: held.bytes,
      asked,
      isKept: state.isKept(parsed.keeps),
      signal,
      nameOf: (path) => parsed.nameOf(path),
    }),
  );
  const leave = (): Promise<void> =>
    entering.then(
      (pass) => pass.leave(),
      () => undefined,
    );
  owned.add(() => void leave());
  entering.catch(() => undefined);
  return entering;
};
