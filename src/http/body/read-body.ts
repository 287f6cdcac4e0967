import { unlessAborted } from '../../kit/async/wait.ts';
import type { BodyBudget } from '../../turns/body-budget.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { readJson, type ReadJsonLimits } from './read-json.ts';

export interface BodyDeps {
  readonly bodies: BodyBudget;
  readonly maxBodyBytes: number;
}

/** The JSON body of a request that runs no turn. Its bytes are held until the exchange ends. */
export const readBody = async (
  http: Request,
  exchange: Exchange,
  { bodies, maxBodyBytes }: BodyDeps,
  options: Pick<ReadJsonLimits, 'ifEmpty'> = {},
): Promise<unknown> => {
  const room = bodies.open(exchange.caller(), exchange.signal, (error) => exchange.abort(error));
  exchange.atEnd(() => room.letGo());
  return unlessAborted(
    readJson(http, { maxBytes: maxBodyBytes, room, signal: exchange.signal, ...options }),
    exchange.signal,
  );
};
