import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import type { JsonObject } from '../../src/kit/json/json.ts';

export interface SeenExchange {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: JsonObject;
  /** Of the answer. */
  readonly status: number;
  readonly answered: Headers;
}

export interface RecordingHop {
  readonly url: string;
  readonly seen: readonly SeenExchange[];
  close(): Promise<void>;
}

/** A proxy between a client and a server that records both sides. */
export const startRecordingProxy = async (target: string): Promise<RecordingHop> => {
  const seen: SeenExchange[] = [];
  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const { method, headers } = incoming;
    const path = incoming.url ?? '';
    const sent = Buffer.concat(await incoming.toArray());
    const { host: _, connection: __, 'content-length': ___, ...passed } = headers;
    const answer = await fetch(target + path, {
      ...(method === undefined ? {} : { method }),
      headers: passed as Record<string, string>,
      ...(sent.length > 0 ? { body: sent } : {}),
    });
    const body = sent.length > 0 ? (JSON.parse(sent.toString()) as JsonObject) : {};
    seen.push({ path, headers, body, status: answer.status, answered: answer.headers });
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers));
    // Either side may disconnect: the other must notice.
    if (answer.body === null) outgoing.end();
    else await pipeline(Readable.fromWeb(answer.body), outgoing).catch(() => {});
  };
  const server = createServer((incoming, outgoing) => void serve(incoming, outgoing));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};
