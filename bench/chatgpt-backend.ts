import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { constants, deflateRawSync } from 'node:zlib';
import { WebSocketServer, type WebSocket } from 'ws';

import { isJsonObject, type JsonObject } from '../src/kit/json/json.ts';
import { serverFrame } from '../test/support/frames.ts';

/** The first part of the path of a base URL that makes the backend worse than it is otherwise. */
export const SLOW_SSE = 'slow-sse';
export const HANGING = 'hanging';

/** What POSTs take longer at `SLOW_SSE`. */
export const SLOW_SSE_MS = 1_500;
/** One in this many requests at `HANGING` gets no event, over either transport. */
export const HANGS_EVERY = 20;

type AnswerTo = (body: JsonObject) => readonly string[];

/**
 * A minimal backend of a ChatGPT login, for measuring turns; test/chatgpt tests its rules. The account's settings are
 * slow on purpose: a turn must not wait for them.
 */
export const startChatgptBackend = async (answerTo: AnswerTo): Promise<string> => {
  const hangs = hangsSometimes();
  const server = createServer((incoming, response) => {
    const { pathname } = new URL(incoming.url ?? '', 'http://backend');
    if (pathname.endsWith('/backend-api/codex/responses')) {
      const isSlow = pathname.startsWith(`/${SLOW_SSE}/`);
      void answer(incoming, response, (body) => (hangs(pathname) ? null : answerTo(body)), isSlow);
    } else void tellAccount(pathname, response);
  });
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: true });
  server.on('upgrade', (incoming: IncomingMessage, duplex: Duplex, head: Buffer) => {
    const { pathname } = new URL(incoming.url ?? '', 'http://backend');
    sockets.handleUpgrade(incoming, duplex, head, (socket) => {
      // A client that disconnects is not an error of the backend.
      socket.on('error', () => {});
      socket.on('message', (data: Buffer) => {
        const body: unknown = JSON.parse(data.toString('utf8'));
        if (isJsonObject(body) && !hangs(pathname)) void answerFrame(socket, duplex, answerTo(body));
      });
    });
  });
  // Longer than any client keeps an idle connection: the client must close it.
  server.keepAliveTimeout = 120_000;
  server.on('connection', (socket) => socket.setNoDelay(true));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/backend-api`;
};

/** Whether the next request at this path gets no answer. */
const hangsSometimes = (): ((pathname: string) => boolean) => {
  let count = 0;
  return (pathname) => {
    if (!pathname.startsWith(`/${HANGING}/`)) return false;
    count += 1;
    return count % HANGS_EVERY === 0;
  };
};

const answer = async (
  incoming: IncomingMessage,
  response: ServerResponse,
  answerTo: (body: JsonObject) => readonly string[] | null,
  isSlow: boolean,
): Promise<void> => {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
  const body: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
  const pieces = isJsonObject(body) ? answerTo(body) : [];
  // Until the client disconnects.
  if (pieces === null) return;
  if (isSlow) await sleep(SLOW_SSE_MS);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const piece of pieces) {
    if (!response.write(piece)) await once(response, 'drain');
  }
  response.end();
};

/** The same answer as messages, which share writes as the events of a piece do. */
const answerFrame = async (socket: WebSocket, duplex: Duplex, pieces: readonly string[]): Promise<void> => {
  if (!socket.extensions.includes('permessage-deflate')) throw new Error('a client does not inflate');
  for (const frames of framesOf(pieces)) {
    // Not by `send`: it would deflate each message anew in another thread, and write it when that is done.
    duplex.write(frames);
    if (duplex.writableNeedDrain) await Promise.race([once(duplex, 'drain'), once(duplex, 'close')]);
    if (socket.readyState !== socket.OPEN) return;
  }
};

const prepared = new Map<readonly string[], readonly Buffer[]>();
const WINDOW_BYTES = 32 * 1024;
const TEXT = 1;

/** The messages of each piece, deflated with those before them in the answer: a client has them in its window. */
const framesOf = (pieces: readonly string[]): readonly Buffer[] => {
  const known = prepared.get(pieces);
  if (known !== undefined) return known;
  let window = Buffer.alloc(0);
  const frameOf = (text: string): Buffer => {
    const dictionary = window.length === 0 ? {} : { dictionary: window };
    const deflated = deflateRawSync(text, { ...dictionary, finishFlush: constants.Z_SYNC_FLUSH });
    window = Buffer.concat([window, Buffer.from(text)]).subarray(-WINDOW_BYTES);
    return serverFrame(TEXT, deflated.subarray(0, -4), { isCompressed: true });
  };
  // The events of a piece, without their form as a stream.
  const frames = pieces.map((piece) =>
    Buffer.concat([...piece.matchAll(/^data: (.*)$/gmu)].map(([, data]) => frameOf(data ?? ''))),
  );
  prepared.set(pieces, frames);
  return frames;
};

const SLOW_SETTINGS_MS = 3_000;

const tellAccount = async (pathname: string, response: ServerResponse): Promise<void> => {
  if (pathname.endsWith('/wham/settings/user')) await sleep(SLOW_SETTINGS_MS);
  const known = Object.entries(ACCOUNT).find(([path]) => pathname.endsWith(path))?.[1];
  response.writeHead(known === undefined ? 404 : 200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(known ?? {}));
};

const ACCOUNT: Readonly<Record<string, JsonObject>> = {
  '/wham/settings/user': { commit_attribution_enabled: false },
  '/wham/accounts/check': {
    accounts: [
      {
        id: 'acc-bench',
        name: 'Bench',
        structure: 'personal',
        workspace_backend_origin: 'https://chatgpt.com',
        account_routing_override: 'NO_CONSTRAINT',
      },
    ],
    account_ordering: ['acc-bench'],
    default_account_id: 'acc-bench',
  },
  '/wham/config/bundle': {},
};

/** A fake `auth.json`. */
export const madeUpLogin = (nowMs: number): string => {
  const claims = {
    email: 'bench@example.com',
    exp: Math.floor(nowMs / 1000) + 86_400,
    'https://api.openai.com/auth': {
      chatgpt_plan_type: 'plus',
      chatgpt_account_id: 'acc-bench',
      chatgpt_user_id: 'user-bench',
    },
  };
  const token = ['e30', Buffer.from(JSON.stringify(claims)).toString('base64url'), 'x'].join('.');
  return JSON.stringify({
    OPENAI_API_KEY: null,
    tokens: { id_token: token, access_token: token, refresh_token: 'none', account_id: 'acc-bench' },
    last_refresh: new Date(nowMs).toISOString(),
  });
};
