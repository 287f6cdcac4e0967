import { usableNames, type ModelNames } from '../../canonical/models/model-names.ts';
import type { ModelDirectory } from '../../engine/model-directory.ts';
import type { TurnGate } from '../../turns/turn-gate.ts';
import { route, type Route } from '../route.ts';
import { isHttps } from '../guards/client-address.ts';

/** How a client is set up for this server. */
export interface ConnectedClient {
  readonly id: string;
  readonly title: string;
  readonly page: string | null;
  readonly command: string;
  readonly files: readonly { readonly path: string; readonly format: string; readonly content: string }[];
  readonly shell: string | null;
  readonly tryIt: string;
}

export interface ClientsRouteDeps {
  /** For a server at this address, and a key that may use these models. */
  readonly clients: (url: string, names: ModelNames) => readonly ConnectedClient[];
  readonly models: ModelDirectory;
  readonly modelFilter: TurnGate['modelFilter'];
}

/** The clients that can be set up, for the address at which the caller reaches this server. */
export const clientsRoute = ({ clients, models, modelFilter }: ClientsRouteDeps): Route =>
  route('GET /v1/codex/clients', { scopes: ['infer', 'read'] }, async ({ url, headers }, exchange) => {
    const address = `${isHttps(headers) ? 'https' : 'http'}://${new URL(url).host}`;
    const names = usableNames(await models.names(), modelFilter(exchange.caller()));
    const data = clients(address, names).map(({ tryIt, ...client }) => ({
      object: 'codex.client' as const,
      ...client,
      try_it: tryIt,
    }));
    return Response.json({ object: 'list', data, has_more: false });
  });
