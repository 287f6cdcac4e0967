import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { readCommandLine } from '../../src/cli/read-command-line.ts';
import { runCommandLine } from '../../src/cli/run.ts';
import { noProgress } from './no-progress.ts';

export const KEY = 'sk-proxy-a-key-for-tests';

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

/** Describes models as this server does. The model `nope` does not exist. */
export const startModelList = async (): Promise<{ readonly port: number; close(): void }> => {
  const server = createServer((request, response) => {
    const model = request.url?.replace('/v1/models/', '');
    const isKnown = model !== 'nope';
    const isRight = request.headers.authorization === `Bearer ${KEY}`;
    response.statusCode = isRight ? (isKnown ? 200 : 404) : 401;
    const found = {
      id: model,
      alias_of: 'gpt-6.1-sol',
      display_name: 'GPT-6.1-Sol',
      context_window: 300_000,
    };
    response.end(JSON.stringify(isKnown ? found : { error: {} }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() };
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
