import { FAMILY } from '../canonical/models/model-names.ts';
import { USUAL_OUTPUT, USUAL_WINDOW } from '../connect/client.ts';
import { describeClients } from '../connect/describe.ts';
import type { ClientsRouteDeps } from '../http/codex/clients.ts';

/** Replaced by people with a key of their own: the answer never contains one. */
const KEY = 'YOUR_API_KEY';

/** How clients are connected to this server, from the table of the command `connect`. */
export const clientsOf = (): ClientsRouteDeps['clients'] => {
  // A clone runs its TypeScript.
  const command = import.meta.url.endsWith('.ts') ? 'npm run connect --' : 'codex-app-server-proxy connect';
  return (url, names) => {
    const standard = names.find(FAMILY)?.info ?? null;
    // The key may not use the default model: it names another one.
    const info = standard ?? names.list.models[0] ?? names.list.unlisted[0] ?? null;
    const id = info?.id ?? FAMILY;
    const model = {
      id,
      isChosen: info !== standard,
      title: info?.displayName ?? id,
      contextWindow: info?.contextWindow ?? USUAL_WINDOW,
      maxOutputTokens: info?.maxOutputTokens ?? USUAL_OUTPUT,
    };
    return describeClients({ url, key: KEY, keyFile: null, model }).map((client) => ({
      ...client,
      command: `${command} ${client.id} --url ${url}`,
    }));
  };
};
