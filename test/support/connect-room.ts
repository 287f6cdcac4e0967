import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { json } from 'node:stream/consumers';

import { readCommandLine } from '../../src/cli/read-command-line.ts';
import { runCommandLine } from '../../src/cli/run.ts';
import { KEY_PROOF_PATH, proofKeyOf, proofOf } from '../../src/features/keys/key-secret.ts';
import { socketAddress } from '../../src/http/exchange/connection-info.ts';
import { noProgress } from './no-progress.ts';

/** Of the form that the server makes. */
const KEY = `sk-proxy-${'a-key-for-tests'.padEnd(43, '-')}`;

/** Where each client has its files, below the home. */
export const PLACES: Readonly<Record<string, readonly string[]>> = {
  claude: ['.claude/settings.json'],
  codex: ['.codex/config.toml'],
  opencode: ['.config/opencode/opencode.json'],
  cline: ['.cline/data/settings/providers.json'],
  continue: ['.continue/config.yaml'],
  'qwen-code': ['.qwen/settings.json'],
  pi: ['.pi/agent/models.json', '.pi/agent/settings.json'],
};

/** The same with `--mcp`. */
export const MCP_PLACES: Readonly<Record<string, string>> = {
  claude: '.claude.json',
  codex: '.codex/config.toml',
  opencode: '.config/opencode/opencode.json',
  cline: '.cline/data/settings/cline_mcp_settings.json',
};

/** The key that the server makes for a client. */
export const keyFor = (client: string): string => `sk-proxy-made-for-${client}`;

/** Proves that it knows the key, makes keys and describes models as this server does. The model `nope` does not exist. */
export const startModelList = async (): Promise<{
  readonly port: number;
  /** The keys that it has made. */
  readonly made: Set<string>;
  /** The workspaces that keys were given. */
  readonly workspaces: Map<string, unknown>;
  close(): void;
}> => {
  const made = new Set<string>();
  const workspaces = new Map<string, unknown>();
  const salt = 'a-salt';
  const proofKey = await proofKeyOf(KEY, salt);
  const answer = async (request: IncomingMessage): Promise<[status: number, body: object]> => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    if (pathname === KEY_PROOF_PATH) {
      const address = socketAddress(request.socket.localAddress, request.socket.localPort) ?? '';
      const proofs = [proofOf(proofKey, searchParams.get('nonce') ?? '', address)];
      return [200, { salt, address, proofs }];
    }
    const key = request.headers.authorization?.replace('Bearer ', '') ?? '';
    if (key !== KEY && !made.has(key)) return [401, { error: {} }];
    if (request.method === 'POST') {
      const body = (await json(request)) as {
        name?: string;
        scopes?: readonly string[];
        workspaces?: unknown;
      };
      const [, changed] = /^\/v1\/codex\/keys\/key_(.+)$/.exec(pathname) ?? [];
      if (changed !== undefined) {
        workspaces.set(changed, body.workspaces);
        return [200, {}];
      }
      const [, client = ''] = /^connect: (\S+) on ./.exec(body.name ?? '') ?? [];
      if (body.scopes?.join() !== 'infer') return [400, { error: { message: 'too many scopes' } }];
      made.add(keyFor(client));
      workspaces.set(client, body.workspaces);
      return [200, { id: `key_${client}`, key: keyFor(client) }];
    }
    if (request.method === 'DELETE') {
      made.delete(keyFor(pathname.replace('/v1/codex/keys/key_', '')));
      return [200, {}];
    }
    const model = pathname.replace('/v1/models/', '');
    const found = {
      id: model,
      alias_of: 'gpt-6.1-sol',
      display_name: 'GPT-6.1-Sol',
      context_window: 300_000,
    };
    return model === 'nope' ? [404, { error: {} }] : [200, found];
  };
  const server = createServer((request, response) => {
    void (async () => {
      const [status, body] = await answer(request);
      response.statusCode = status;
      response.end(JSON.stringify(body));
    })();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, made, workspaces, close: () => void server.close() };
};

interface Extra {
  readonly environment?: Readonly<Record<string, string>>;
  /** The answer to a question; null: there is no terminal. */
  readonly answer?: boolean | null;
}

/** A user's home, and the command in it. */
export const openConnectRoom = (port: number) => {
  const home = mkdtempSync(path.join(tmpdir(), 'connect-'));
  const stateDir = path.join(home, 'state');
  mkdirSync(stateDir, { mode: 0o700 });
  writeFileSync(path.join(stateDir, 'api-key'), `${KEY}\n`, { mode: 0o600 });
  const at = (...names: readonly string[]): string => path.join(home, ...names);
  return {
    home,
    at,
    read: (name: string): string => readFileSync(at(name), 'utf8'),
    put(name: string, text: string, mode = 0o644): void {
      mkdirSync(path.dirname(at(name)), { recursive: true });
      writeFileSync(at(name), text);
      chmodSync(at(name), mode);
    },
    modeOf: (name: string): number => statSync(at(name)).mode & 0o777,
    async run(line: string, { environment = {}, answer = null }: Extra = {}) {
      const said = { out: '', err: '', asked: '' };
      const code = await runCommandLine(readCommandLine(line.split(' ')), {
        environment: { HOME: home, PROXY_STATE_DIR: stateDir, PORT: String(port), ...environment },
        out: (text: string) => void (said.out += text),
        say: (text: string) => void (said.err += text),
        progress: noProgress,
        confirm: async (question: string) => {
          said.asked += question;
          return answer;
        },
      });
      return { code, ...said };
    },
    close: () => rmSync(home, { recursive: true, force: true }),
  };
};
