import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export const PROVIDER_KEY = 'sk-provider-0123456789abcdef';

/** A request as the provider got it. */
export interface ProviderRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** How the provider answers. It may read the body or not. */
export type ProviderScript = (incoming: IncomingMessage, outgoing: ServerResponse) => unknown;

export interface Provider {
  readonly baseUrl: string;
  readonly host: string;
  /** Requests whose body was read with `receive`. */
  readonly requests: ProviderRequest[];
  /** Answers the next requests with this script. */
  use(script: ProviderScript): void;
  /** Reads the whole body of a request. */
  receive(incoming: IncomingMessage): Promise<ProviderRequest>;
  close(): Promise<void>;
}

/** A provider of embeddings and transcriptions. It rejects a request with anything but its own key. */
export const startProvider = async (): Promise<Provider> => {
  let current: ProviderScript = (_incoming, outgoing) => outgoing.writeHead(500).end();
  const requests: ProviderRequest[] = [];
  const server = createServer((incoming, outgoing) => {
    const { authorization, cookie, 'x-api-key': key, 'api-key': azureKey } = incoming.headers;
    const isAllowed = authorization === `Bearer ${PROVIDER_KEY}`;
    if (isAllowed && [cookie, key, azureKey].every((one) => one === undefined)) current(incoming, outgoing);
    else outgoing.writeHead(418).end('foreign credentials');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    baseUrl: `http://${host}/v1`,
    host,
    requests,
    use(script) {
      current = script;
    },
    async receive(incoming) {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
      const { method = '', url = '', headers } = incoming;
      const request = { method, url, headers, body: Buffer.concat(chunks) };
      requests.push(request);
      return request;
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};
