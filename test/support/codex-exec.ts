import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { findCodexBinary } from '../../src/codex/binary.ts';

/** A user's codex: a home with a `config.toml`, and a working directory. */
export interface CodexRoom {
  readonly home: string;
  readonly work: string;
  /** Runs `codex exec` to its end. */
  exec(...words: readonly string[]): Promise<ExecResult>;
  /** Starts `codex` with these arguments, for the test to talk to. */
  start(...words: readonly string[]): ReturnType<typeof spawn>;
  close(): Promise<void>;
}

export interface ExecResult {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** `config` is the text of its `config.toml`; `env` is its only other environment. */
export const openCodexRoom = async (
  config: string,
  env: Readonly<Record<string, string>> = {},
): Promise<CodexRoom> => {
  const root = await mkdtemp(path.join(tmpdir(), 'proxy-codex-'));
  const [home, work] = [path.join(root, 'home'), path.join(root, 'work')];
  await Promise.all([mkdir(home), mkdir(work)]);
  await writeFile(path.join(home, 'config.toml'), config);
  const children = new Set<ReturnType<typeof spawn>>();
  const start: CodexRoom['start'] = (...words) => {
    const child = spawn(findCodexBinary().path, words, {
      cwd: work,
      env: { PATH: process.env['PATH'], HOME: root, CODEX_HOME: home, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    children.add(child);
    child.once('close', () => children.delete(child));
    return child;
  };
  return {
    home,
    work,
    start,
    async exec(...words) {
      const child = start('exec', '--skip-git-repo-check', '--color', 'never', ...words);
      child.stdin?.end();
      let [out, err] = ['', ''];
      child.stdout?.setEncoding('utf8').on('data', (text: string) => (out += text));
      child.stderr?.setEncoding('utf8').on('data', (text: string) => (err += text));
      const [code] = (await once(child, 'close')) as [number | null];
      return { code, out, err };
    },
    async close() {
      for (const child of children) child.kill('SIGKILL');
      await rm(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
};

/** A user's codex whose provider is this server. */
export interface ProviderRoomOptions {
  readonly baseUrl: string;
  readonly key: string;
  readonly model?: string;
  /** codex sends more to one called OpenAI. */
  readonly name?: string;
  /** Additional lines of `config.toml`, at its top and about the provider. */
  readonly settings?: string;
  readonly ofProvider?: string;
}

/** As in `docs/clients/codex.md`. */
export const openProviderRoom = ({
  baseUrl,
  key,
  model = 'gpt-5.5',
  name = 'proxy',
  settings = '',
  ofProvider = '',
}: ProviderRoomOptions): Promise<CodexRoom> =>
  openCodexRoom(
    `model = "${model}"
model_provider = "proxy"
${settings}
[model_providers.proxy]
name = "${name}"
base_url = "${baseUrl}"
wire_api = "responses"
env_key = "PROXY_API_KEY"
${ofProvider}
`,
    { PROXY_API_KEY: key },
  );
