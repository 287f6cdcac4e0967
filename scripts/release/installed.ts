import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';

const LIMIT_MS = 300_000;

/** One way to run an installed package: the command of a user with a home of its own. */
export interface Installation {
  /** For people: `npx`. */
  readonly title: string;
  /** The program and its first words, before those of the command. */
  readonly command: readonly string[];
  readonly home: string;
  readonly cwd: string;
  /** Settings of npm. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Without the user's settings. */
const start = ({ command, home, cwd, environment }: Installation, words: readonly string[]): ChildProcess => {
  const [program = '', ...first] = command;
  return spawn(program, [...first, ...words], {
    cwd,
    env: {
      PATH: process.env['PATH'],
      HOME: home,
      PORT: '0',
      PROXY_CODEX_WORKDIR: path.join(home, 'work'),
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: LIMIT_MS,
  });
};

/** Runs a command to its end. */
export const outputOf = async (
  installation: Installation,
  words: readonly string[],
): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> => {
  const child = start(installation, words);
  const output = { out: '', err: '' };
  child.stdout?.on('data', (chunk: Buffer) => (output.out += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (output.err += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...output };
};

/** Starts the server, sends the README's request to the demo model, and opens the console. */
export const answersOf = async (
  installation: Installation,
): Promise<{ readonly answer: string; readonly console: string }> => {
  const child = start(installation, []);
  child.stdout?.resume();
  const closed = once(child, 'close');
  let shown = '';
  const url = new Promise<string>((resolve, reject) => {
    child.stderr?.on('data', (chunk: Buffer) => {
      shown += chunk.toString();
      const [, found] = /URL\s+(http\S+)/.exec(shown) ?? [];
      if (found !== undefined) resolve(found);
    });
    child.once('close', () => reject(new Error(`The server ended before it was ready:\n${shown}`)));
  });
  try {
    const base = await url;
    const key = await readFile(path.join(installation.home, '.codex-app-server-proxy/api-key'), 'utf8');
    const signal = AbortSignal.timeout(LIMIT_MS);
    const response = await fetch(`${base}/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.trim()}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'codex-5', input: 'Say hello.' }),
      signal,
    });
    const page = await fetch(base.replace(/\/v1$/, '/console/'), { signal });
    return {
      answer: `${response.status} ${await response.text()}`,
      console: `${page.status} ${await page.text()}`,
    };
  } finally {
    child.kill('SIGTERM');
    await closed;
  }
};
