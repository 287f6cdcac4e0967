import { execFile } from 'node:child_process';
import path from 'node:path';

import type { LoginBackend } from '../home/backend.ts';
import { readAccountModels, type AccountModel } from './account-list.ts';
import { readIfPresent } from '../home/files.ts';
import type { CodexHomes } from '../home/prepare-home.ts';
import { endToEnd } from '../end-to-end-headers.ts';
import { getText, type TextAnswer } from '../get-text.ts';
import { notFound, startLoopback } from '../loopback.ts';

export type AccountAnswer =
  | { readonly kind: 'listed'; readonly models: readonly AccountModel[] }
  /** `reason` is for the log and contains nothing of the login. */
  | { readonly kind: 'failed'; readonly reason: string };

interface AskAccountOptions {
  readonly homes: CodexHomes;
  /** As configured for the app-server. */
  readonly backend: LoginBackend;
  /**
   * `us`: the request passes through this process, as with a relay, and we validate the answer. `codex`:
   * codex asks directly, as it must if our own connections are blocked, and only an answer that codex
   * understands counts.
   */
  readonly via: 'us' | 'codex';
  readonly signal: AbortSignal;
}

/** codex gives its request 5 s; a token may have to be refreshed first. */
const COMMAND_TIMEOUT_MS = 15_000;

/**
 * Asks the backend for the models of a ChatGPT login by running `codex debug models`, which knows the request
 * and refreshes the tokens. On failure it silently falls back to its bundled list, so its output is not used.
 */
export const askAccount = async (options: AskAccountOptions): Promise<AccountAnswer> => {
  const { backend } = options;
  const listener =
    options.via === 'us' && backend.baseUrl !== null ? await startListener(backend.baseUrl) : null;
  try {
    const home = await options.homes.createPlain({
      ...backend,
      baseUrl: listener?.baseUrl ?? backend.baseUrl,
    });
    try {
      const { path: cwd, environment } = home;
      const ran = await run(options.homes.binary.path, { cwd, environment, signal: options.signal });
      if (!ran) return { kind: 'failed', reason: 'codex did not exit in time' };
      if (listener !== null) return received(listener.answer());
      const cache = await readIfPresent(path.join(home.path, 'models_cache.json'));
      return cache === null ? { kind: 'failed', reason: 'codex got no list' } : readAnswer(cache);
    } finally {
      await home.remove();
    }
  } finally {
    await listener?.close();
  }
};

interface Run {
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Whether it exited by itself. */
const run = (binary: string, { cwd, environment, signal }: Run): Promise<boolean> =>
  new Promise((resolve) => {
    const limits = {
      timeout: COMMAND_TIMEOUT_MS,
      killSignal: 'SIGKILL',
      maxBuffer: 64 * 1024 * 1024,
    } as const;
    execFile(binary, ['debug', 'models'], { cwd, env: environment, signal, ...limits }, (error) => {
      resolve(error === null || typeof error.code === 'number');
    });
  });

const received = (answer: ListedAnswer | null): AccountAnswer => {
  if (answer === null)
    return { kind: 'failed', reason: 'codex did not send the request: its login may have expired' };
  if ('reason' in answer) return { kind: 'failed', reason: answer.reason };
  return answer.status === 200
    ? readAnswer(answer.text)
    : { kind: 'failed', reason: `the backend answered with status ${answer.status}` };
};

const readAnswer = (text: string): AccountAnswer => {
  const models = readAccountModels(parsed(text));
  return models === null
    ? { kind: 'failed', reason: 'the answer is not a list of models' }
    : { kind: 'listed', models };
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};

type ListedAnswer = TextAnswer | { readonly reason: string };

interface ModelsListener {
  /** Configured as codex's provider. The path contains a secret. */
  readonly baseUrl: string;
  /** The answer to the request for models; null if codex did not ask. */
  answer(): ListedAnswer | null;
  close(): Promise<void>;
}

/** The same timeout as codex's own. */
const TIMEOUT_MS = 5_000;
/** Each model includes its prompts. */
const MAX_BYTES = 16 * 1024 * 1024;

/** A proxy between codex and its backend for one request: passes the answer on and records it. */
const startListener = async (target: string): Promise<ModelsListener> => {
  let listed: ListedAnswer | null = null;
  const loopback = await startLoopback({
    async serve(requested, incoming, outgoing) {
      if (incoming.method !== 'GET' || !requested.startsWith('models')) {
        notFound(outgoing);
        return;
      }
      listed = await ask(`${target}/${requested}`, endToEnd(incoming.headers));
      const [status, text] = 'reason' in listed ? [502, ''] : [listed.status, listed.text];
      outgoing.writeHead(status, { 'content-type': 'application/json', connection: 'close' }).end(text);
    },
    onError: () => {},
  });
  return { baseUrl: loopback.origin, answer: () => listed, close: () => loopback.close() };
};

const ask = async (url: string, headers: Record<string, string | string[]>): Promise<ListedAnswer> => {
  try {
    return await getText(url, { headers, signal: AbortSignal.timeout(TIMEOUT_MS), maxBytes: MAX_BYTES });
  } catch (error) {
    return { reason: error instanceof Error ? error.message : 'no answer' };
  }
};
