import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { zstdDecompressSync } from 'node:zlib';

import { isJsonObject } from '../../src/kit/json/json.ts';
import type { Json, JsonObject } from '../../src/kit/json/json.ts';

export const listenOn = async (server: Server): Promise<number> => {
  server.keepAliveTimeout = 120_000;
  const listening = Promise.withResolvers<void>();
  server.once('error', listening.reject);
  server.listen(0, '127.0.0.1', listening.resolve);
  await listening.promise;
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the imitation has no port');
  return address.port;
};

export const closed = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });

export const readText = async (incoming: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  return (incoming.headers['content-encoding'] === 'zstd' ? zstdDecompressSync(bytes) : bytes).toString(
    'utf8',
  );
};

export const parseObject = (text: string): JsonObject | null => {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : null;
  } catch {
    // A form, or empty.
    return null;
  }
};

export const sendJson = (
  response: ServerResponse,
  answer: { readonly status: number; readonly body: Json },
  headers: Readonly<Record<string, string>> = {},
): void => {
  response.writeHead(answer.status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(answer.body));
};
