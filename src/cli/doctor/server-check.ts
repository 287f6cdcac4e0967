import type { Config } from '../../config/schema.ts';
import { addressOf } from '../server-address.ts';
import { ok, skipped, warning, type Check } from './finding.ts';

/** Checks whether this server is running at the address, and its health. */
export const serverCheck = ({ host, port }: Pick<Config['http'], 'host' | 'port'>): Check => ({
  name: 'server',
  limitMs: 5_000,
  run: async (signal) => {
    if (port === 0) return skipped('PORT=0: each start takes a free port');
    const url = addressOf({ host, port });
    const answer = await fetch(`${url}/readyz?backend`, { signal }).catch(() => null);
    if (answer === null) return ok(`no server is running at ${url}`, { running: false });
    const text = await answer.text();
    const said = /"status":"(ready|not ready)"/.exec(text)?.[1];
    if (said === undefined)
      return warning(`another program answers at ${url}`, 'set PORT to another port', { running: false });
    const trouble = /"reason":"([a-z]+)"/.exec(text)?.[1];
    const facts = { running: true, ready: said === 'ready', trouble: trouble ?? null };
    if (said === 'ready') return ok(`running at ${url}`, facts);
    const why = trouble === undefined ? 'is not ready' : `reports that its backend is ${trouble}`;
    return warning(`the server at ${url} ${why}`, 'see the lines below, and its log', facts);
  },
});
