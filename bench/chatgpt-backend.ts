import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { isJsonObject, type JsonObject } from '../src/kit/json/json.ts';

/**
 * A minimal backend of a ChatGPT login, for measuring turns; test/chatgpt tests its rules. The account's settings are
 * slow on purpose: a turn must not wait for them.
 */
export const startChatgptBackend = async (
  answerTo: (body: JsonObject) => readonly string[],
): Promise<string> => {
  const server = createServer((incoming, response) => {
    const { pathname } = new URL(incoming.url ?? '', 'http://backend');
    if (pathname === '/backend-api/codex/responses') void answer(incoming, response, answerTo);
    else void tellAccount(pathname, response);
  });
  // Longer than any client keeps an idle connection: the client must close it.
  server.keepAliveTimeout = 120_000;
  server.on('connection', (socket) => socket.setNoDelay(true));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/backend-api`;
};

const answer = async (
  incoming: IncomingMessage,
  response: ServerResponse,
  answerTo: (body: JsonObject) => readonly string[],
): Promise<void> => {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
  const body: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const piece of isJsonObject(body) ? answerTo(body) : []) {
    if (!response.write(piece)) await once(response, 'drain');
  }
  response.end();
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
