import type { Config } from '../../config/schema.ts';
import { addressOf } from '../server-address.ts';

const LIMIT_MS = 3_000;

/** Whether this server answers at its address. */
export const isServing = async (
  http: Pick<Config['http'], 'host' | 'port'>,
): Promise<'ready' | 'not ready' | 'no answer'> => {
  const answer = await fetch(`${addressOf(http)}/readyz`, { signal: AbortSignal.timeout(LIMIT_MS) })
    .then((response) => response.text())
    .catch(() => '');
  const said = /"status":"(ready|not ready)"/.exec(answer)?.[1];
  return said === 'ready' || said === 'not ready' ? said : 'no answer';
};
