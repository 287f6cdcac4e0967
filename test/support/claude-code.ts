import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { isJsonObject, type JsonObject } from '../../src/kit/json/json.ts';
import { closedHost } from './closed-host.ts';

/** The real Claude Code, with a home and a project directory of its own. */
export interface ClaudeRoom {
  /** The project directory. */
  readonly work: string;
  /** Runs `claude -p` with one prompt; its output is one JSON object. */
  ask(prompt: string, ...words: readonly string[]): Promise<ClaudeAnswer>;
  /** One process for several prompts: each is sent when the answer to the one before it is complete. */
  talk(prompts: readonly string[], ...words: readonly string[]): Promise<ClaudeTalk>;
  close(): Promise<void>;
}

export interface ClaudeAnswer {
  readonly code: number | null;
  /** What `--output-format json` prints; empty if the output is not an object. */
  readonly result: JsonObject;
  /** For `--resume`. */
  readonly session: string;
  readonly err: string;
}

export interface ClaudeTalk {
  readonly code: number | null;
  /** The lines of `--output-format stream-json`. */
  readonly lines: readonly JsonObject[];
  /** The lines that end an answer. */
  readonly results: readonly JsonObject[];
  readonly err: string;
}

export interface ClaudeRoomOptions {
  readonly url: string;
  readonly key: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** The tools that `claude -p` may use without asking. */
const ALLOWED = ['Agent', 'Bash', 'Edit', 'Read', 'ToolSearch', 'WebFetch', 'WebSearch', 'Write'];

/** A hanging process is killed, and the test fails because of its output. */
const DEADLINE_MS = 45_000;

/** Null: npm has installed no Claude Code for this machine. */
const findClaude = (): string | null => {
  const { resolve } = createRequire(import.meta.url);
  const machine = `@anthropic-ai/claude-code-${process.platform}-${process.arch}`;
  for (const name of [machine, `${machine}-musl`]) {
    try {
      const binary = path.join(path.dirname(resolve(`${name}/package.json`)), 'claude');
      if (existsSync(binary)) return binary;
    } catch {
      // This package is not installed; the next one may be.
    }
  }
  return null;
};

const binary = findClaude();
if (binary === null && process.env['CI'] === 'true') throw new Error('Claude Code is not installed');

export const HAS_CLAUDE = binary !== null;

/** Its folder, for the PATH. The program is called `claude`. */
export const CLAUDE_FOLDER = path.dirname(binary ?? '');

/** Why tests are skipped: `describe.skipIf(!HAS_CLAUDE)(name, { meta: { needs: CLAUDE } }, …)`. */
export const CLAUDE = 'Claude Code, which npm has not installed for this machine';

export const openClaudeRoom = async ({ url, key, env = {} }: ClaudeRoomOptions): Promise<ClaudeRoom> => {
  const root = await mkdtemp(path.join(tmpdir(), 'proxy-claude-'));
  const [home, work, tmp] = ['home', 'work', 'tmp'].map((name) => path.join(root, name)) as [
    string,
    string,
    string,
  ];
  await Promise.all([home, work, tmp].map((dir) => mkdir(dir)));
  // Requests to any other host fail at once: no test needs the internet.
  const nowhere = `http://${await closedHost()}`;
  const variables = {
    PATH: process.env['PATH'],
    HOME: home,
    TMPDIR: tmp,
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_AUTH_TOKEN: key,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    HTTP_PROXY: nowhere,
    HTTPS_PROXY: nowhere,
    NO_PROXY: '127.0.0.1',
    ...env,
  };
  const running = new Set<ChildProcess>();
  const start = (words: readonly string[]): Started => {
    const args = [...words, '--allowedTools', ALLOWED.join(',')];
    // In a process group of its own, which has the commands of its Bash tool too.
    const child = spawn(binary ?? 'claude', args, { cwd: work, env: variables, detached: true });
    running.add(child);
    const deadline = setTimeout(() => end(child), DEADLINE_MS);
    child.once('close', () => {
      clearTimeout(deadline);
      running.delete(child);
    });
    return started(child);
  };
  return {
    work,
    async ask(prompt, ...words) {
      const { child, output } = start(['-p', prompt, '--output-format', 'json', ...words]);
      child.stdin?.end();
      const [code] = (await once(child, 'close')) as [number | null];
      const [result = {}] = output.lines();
      const { session_id: session } = result;
      return { code, result, session: typeof session === 'string' ? session : '', err: output.err() };
    },
    async talk(prompts, ...words) {
      const format = ['--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose'];
      const { child, output } = start(['-p', ...format, ...words]);
      const closed = once(child, 'close') as Promise<[number | null]>;
      const results = (): readonly JsonObject[] => output.lines().filter(({ type }) => type === 'result');
      let sent = 0;
      const next = (): void => {
        if (results().length < sent) return;
        const prompt = prompts[sent];
        sent += 1;
        if (prompt === undefined) child.stdin?.end();
        else child.stdin?.write(`${JSON.stringify(userMessage(prompt))}\n`);
      };
      child.stdout?.on('data', next);
      next();
      const [code] = await closed;
      return { code, lines: output.lines(), results: results(), err: output.err() };
    },
    async close() {
      for (const child of running) end(child);
      await rm(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
};

interface Started {
  readonly child: ChildProcess;
  readonly output: { lines(): readonly JsonObject[]; err(): string };
}

const started = (child: ChildProcess): Started => {
  let [out, err] = ['', ''];
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (err += text));
  // A process that has ended takes no more input: its exit code says why.
  child.stdin?.on('error', () => {});
  const lines = (): readonly JsonObject[] => out.split('\n').slice(0, -1).map(objectOf);
  return { child, output: { lines, err: () => err } };
};

const objectOf = (line: string): JsonObject => {
  try {
    const value: unknown = JSON.parse(line);
    return isJsonObject(value) ? value : {};
  } catch {
    // The test sees that it is empty.
    return {};
  }
};

const userMessage = (content: string): JsonObject => ({ type: 'user', message: { role: 'user', content } });

const end = ({ pid }: ChildProcess): void => {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
};
