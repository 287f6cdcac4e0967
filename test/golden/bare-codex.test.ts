import { writeFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import path from 'node:path';
import { expect, it } from 'vitest';

import { tomlString } from '../../src/codex/home/config-toml.ts';
import { startModelServer } from '../../src/demo/model-server.ts';
import { isJsonObject, parseJsonObject, type Json, type JsonObject } from '../../src/kit/json/json.ts';
import { VERSION } from '../../src/version.ts';
import { startChatGptBackend, type ChatGptBackend } from '../chatgpt/backend.ts';
import { startChatGptProxy } from '../chatgpt/proxy.ts';
import { bareConfig, startBareCodex, type BareSetUp } from '../support/bare-codex.ts';
import { startProxy } from '../support/proxy.ts';
import { hello } from '../support/scripts.ts';

/**
 * What the bare app-server sends for a plain turn, and what this server sends: the same version, the same client name, the
 * same model. Whatever differs is in one of these lists, with the reason, so a new codex that sends something else is noticed.
 */
type Differences = Readonly<Record<string, string>>;

const THE_CLIENTS: Differences = {
  'body.input': "the client's conversation, without codex's own prompt",
  'body.tools': "the client's tools, not codex's own",
  'body.text': "the client's; codex sends the default of its model catalogue",
};

const OF_CODEX: Differences = {
  'body.instructions': 'the service needs the field; codex sends its own as a developer message',
  'body.client_metadata.guardian_credits_requested':
    "about codex's own reviews of commands, which these turns do not have",
  'body.client_metadata.mcp_attribution':
    "about codex's own MCP servers and plugins; the app-server tells it only to its built-in provider",
};

const HTTP_1: Differences = { 'headers.connection': 'HTTP/1.1 names it, HTTP/2 does not' };

const POSTED: Differences = {
  ...THE_CLIENTS,
  ...OF_CODEX,
  ...HTTP_1,
  'headers.content-encoding': 'zstd: the service takes a plain body too, and compressing it would cost time',
};

const ON_A_SOCKET: Differences = {
  ...THE_CLIENTS,
  ...OF_CODEX,
  'dial.x-codex-turn-metadata': 'a socket is opened before its turn is known, and serves several',
  'dial.x-codex-routing-hint': 'absent from a socket that was opened before the first request',
  'body.previous_response_id': 'codex sends its own prompt ahead in a warm-up; a client has none',
  'body.client_metadata.x-codex-turn-state': 'comes from that warm-up',
};

const TO_A_PROVIDER: Differences = {
  ...THE_CLIENTS,
  ...HTTP_1,
  'body.client_metadata': "the client's: that of the app-server would make every request different",
  'body.parallel_tool_calls': "the client's",
  'body.tool_choice': 'only with tools: some providers reject it without',
};

/** What is sent for one turn. */
interface Sent {
  readonly headers: IncomingHttpHeaders;
  readonly body: JsonObject;
  /** The headers of the upgrade, if it went over a socket. */
  readonly dial?: IncomingHttpHeaders | undefined;
}

const CLIENT = { name: 'codex-app-server-proxy', title: null, version: VERSION };
const MODEL = 'gpt-5.5';
const EFFORT = 'low';

/** The names of everything that only one of them sends, or whose values differ. */
const differences = (bare: Sent, ours: Sent): readonly string[] => {
  const [one, other] = [flat(bare), flat(ours)];
  return [...new Set([...one.keys(), ...other.keys()])].filter((name) => one.get(name) !== other.get(name));
};

/** By path, with what differs in every run replaced. Texts of JSON are read too. */
const flat = (sent: Sent): ReadonlyMap<string, string> => {
  const found = new Map<string, string>();
  const add = (at: string, value: Json | readonly string[] | undefined): void => {
    const object = typeof value === 'string' ? parseJsonObject(value) : value;
    if (isJsonObject(object) && !WHOLE.has(at))
      for (const name of Object.keys(object)) add(`${at}.${name}`, object[name]);
    else if (value !== undefined) found.set(at, plain(JSON.stringify(value)));
  };
  for (const part of ['headers', 'body', 'dial'] as const)
    for (const [name, value] of Object.entries(sent[part] ?? {}))
      if (!OF_A_RUN.has(name)) add(`${part}.${name}`, value);
  return found;
};

/** Compared as one. */
const WHOLE: ReadonlySet<string> = new Set(['body.text']);
const OF_A_RUN: ReadonlySet<string> = new Set([
  'host',
  'content-length',
  'sec-websocket-key',
  'authorization',
]);

const plain = (text: string): string =>
  text
    .replaceAll(/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g, 'ID')
    .replaceAll(/\b1[78]\d{11}\b/g, 'TIME');

/** The differences that no list explains, and the explained ones that do not exist any more. */
const unexplained = (bare: Sent, ours: Sent, known: Differences) => {
  const found = differences(bare, ours);
  const isIn = (name: string, row: string): boolean => name === row || name.startsWith(`${row}.`);
  return {
    unexplained: found.filter((name) => !Object.keys(known).some((row) => isIn(name, row))),
    gone: Object.keys(known).filter((row) => !found.some((name) => isIn(name, row))),
  };
};

const NONE = { unexplained: [], gone: [] };

/** One turn of the bare app-server. */
const runBare = async (setUp: BareSetUp): Promise<void> => {
  const over = Promise.withResolvers<void>();
  const bare = await startBareCodex(setUp, ({ method }) => {
    if (method === 'turn/completed') over.resolve();
  });
  try {
    const { thread } = await bare.call('thread/start', {
      model: MODEL,
      cwd: bare.home,
      ephemeral: true,
      approvalPolicy: 'never',
      sandbox: 'read-only',
    });
    const input = [{ type: 'text', text: 'Hello?' }];
    await bare.call('turn/start', { threadId: thread.id, input, effort: EFFORT });
    await over.promise;
  } finally {
    await bare.close();
  }
};

const signedIn = (backend: ChatGptBackend): BareSetUp => ({
  clientInfo: CLIENT,
  async fill(home) {
    await backend.writeLogin(home);
    await writeFile(path.join(home, 'authority.pem'), backend.authority ?? '');
    const config = [
      `chatgpt_base_url = ${tomlString(backend.baseUrl)}`,
      `openai_base_url = ${tomlString(`${backend.baseUrl}/codex`)}`,
      'cli_auth_credentials_store = "file"',
      'check_for_update_on_startup = false',
      '[analytics]',
      'enabled = false',
    ];
    await writeFile(path.join(home, 'config.toml'), config.join('\n'));
  },
  environment: (home) => ({
    CODEX_CA_CERTIFICATE: path.join(home, 'authority.pem'),
    CODEX_REFRESH_TOKEN_URL_OVERRIDE: backend.tokenUrl,
    CODEX_REVOKE_TOKEN_URL_OVERRIDE: backend.revokeUrl,
  }),
});

const lastSent = ({ modelRequests }: ChatGptBackend): Sent => {
  const { headers = {}, body = {}, frame = null, dial = null } = modelRequests.at(-1) ?? {};
  // A frame says in its metadata what a POST says in headers.
  return frame === null ? { headers, body } : { headers: {}, body: frame, dial: dial?.headers };
};

it.each([
  ['http', POSTED],
  ['websocket', ON_A_SOCKET],
] as const)('with a ChatGPT login over %s this server sends what codex sends', async (transport, known) => {
  const backend = await startChatGptBackend({ script: hello, tls: true });
  const proxy = await startChatGptProxy({ script: hello, env: { PROXY_CHATGPT_TRANSPORT: transport } });
  try {
    backend.settings.instructionsNeeded = 'or-developer-message';
    if (transport === 'http') backend.failUpgrade({ status: 426 });
    await runBare(signedIn(backend));
    const asked = { model: MODEL, input: 'Hello?', reasoning: { effort: EFFORT } };
    expect((await proxy.post('/v1/responses', asked)).status).toBe(200);
    expect(unexplained(lastSent(backend), lastSent(proxy.backend), known)).toEqual(NONE);
    const { originator, 'user-agent': agent } =
      lastSent(proxy.backend).dial ?? lastSent(proxy.backend).headers;
    expect([originator, agent]).toEqual([CLIENT.name, expect.stringMatching(/^codex-app-server-proxy\//)]);
  } finally {
    await proxy.close();
    await backend.close();
  }
});

it('to a provider this server sends what codex sends, or what the client asked for', async () => {
  const provider = await startModelServer({ script: hello, keepRequests: 10 });
  const proxy = await startProxy(hello);
  try {
    await runBare({
      clientInfo: CLIENT,
      fill: (home) => bareConfig(provider.baseUrl, home),
      environment: () => ({}),
    });
    const asked = { model: MODEL, input: 'Hello?', reasoning: { effort: EFFORT } };
    expect((await proxy.post('/v1/responses', asked)).status).toBe(200);
    const [bare, ours] = [provider, proxy.model].map(({ requests }) => {
      const { headers = {}, body = {} } = requests.at(-1) ?? {};
      return { headers, body };
    }) as [Sent, Sent];
    expect(unexplained(bare, ours, TO_A_PROVIDER)).toEqual(NONE);
  } finally {
    await proxy.close();
    await provider.close();
  }
});
