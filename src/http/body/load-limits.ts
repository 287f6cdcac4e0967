import type { BodyBudget } from '../../turns/body-budget.ts';
import type { LoadLimits } from '../../state/chains.ts';
import type { Exchange } from '../exchange/exchange.ts';

/** What is loaded from the store counts like a body until the answer is sent. */
export const loadLimits = (
  exchange: Exchange,
  { bodies }: { readonly bodies: BodyBudget },
): LoadLimits & { readonly caller: string } => {
  const { signal } = exchange;
  const caller = exchange.caller();
  const held = bodies.open(caller, signal, (error) => exchange.abort(error));
  exchange.atEnd(() => held.letGo());
  return { caller, signal, onBytes: (bytes) => held.grow(bytes) };
};
