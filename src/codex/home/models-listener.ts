import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { endToEnd } from '../end-to-end.ts';
import { getText, type TextAnswer } from '../get-text.ts';

export type ListedAnswer = TextAnswer | { readonly reason: string };

export interface ModelsListener {
  /** What codex is told to be its provider. The path cannot be guessed. */
  readonly baseUrl: string;
  /** What came back for the list of models; null if codex did not ask for it. */
  answer(): ListedAnswer | null;
  close(): Promise<void>;
}

/** As long as codex itself waits. */
const TIMEOUT_MS = 5_000;
/** Each model brings its prompts along. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Stands between one codex and its backend, for one request: codex asks, and we hear the answer too. */
export const startListener = async (target: string): Promise<ModelsListener> => {
  const prefix = `/${randomBytes(24).toString('base64url')}`;
  let heard: ListedAnswer | null = null;

  const handle = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const url = incoming.url ?? '';
    if (incoming.method !== 'GET' || !url.startsWith(`${prefix}/models`)) {
      outgoing.writeHead(404, { connection: 'close' }).end();
      return;
    }
    heard = await ask(`${target}${url.slice(prefix.length)}`, endToEnd(incoming.headers));
    const [status, text] = 'reason' in heard ? [502, ''] : [heard.status, heard.text];
    outgoing.writeHead(status, { 'content-type': 'application/json', connection: 'close' }).end(text);
  };

  const server = createServer({ maxHeaderSize: 128 * 1024 }, (incoming, outgoing) => {
    handle(incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`,
    answer: () => heard,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};

const ask = async (url: string, headers: Record<string, string | string[]>): Promise<ListedAnswer> => {
  try {
    return await getText(url, { headers, signal: AbortSignal.timeout(TIMEOUT_MS), maxBytes: MAX_BYTES });
  } catch (error) {
    return { reason: error instanceof Error ? error.message : 'no answer' };
  }
};
