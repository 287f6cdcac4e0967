import { execFile } from 'node:child_process';

import { parseJsonObject } from '../../kit/json/json.ts';
import { accessTokenIn } from '../home/access-token.ts';
import type { Login } from '../home/backend.ts';
import type { CodexHome, CodexHomes } from '../home/prepare-home.ts';

const COMMAND_TIMEOUT_MS = 30_000;

export interface LoginStatus {
  readonly exitCode: number;
  /** Both streams: codex prints the status on stderr. */
  readonly output: string;
}

/**
 * Reads the output of `codex login status`. Matches from the start of the line, because "Not logged in"
 * contains the text of a login too. Unknown kinds of login are not supported.
 */
export const readLoginStatus = ({ exitCode, output }: LoginStatus): Login | null => {
  if (exitCode !== 0) return null;
  if (/^(API key configured|Logged in using an? API key)/m.test(output)) return 'api-key';
  return /^Logged in using ChatGPT/m.test(output) ? 'chatgpt' : null;
};

/**
 * The kind of login that app-servers get, or null. Works offline, unlike `account/read`: for an access token
 * codex itself would ask its issuer.
 */
export const detectLogin = async (homes: CodexHomes): Promise<Login | null> => {
  const auth = await homes.login.read();
  if (auth === null) return null;
  if (accessTokenIn(auth) !== null) return 'chatgpt';
  if (!holdsSomething(auth)) return null;
  const home = await homes.create({ kind: 'none' });
  try {
    return readLoginStatus(await loginStatus(homes.binary.path, home));
  } finally {
    await home.remove();
  }
};

/** codex treats an empty `{}` as a ChatGPT login and fails at the first request. */
const holdsSomething = (text: string): boolean => {
  const auth = parseJsonObject(text) ?? {};
  return ['OPENAI_API_KEY', 'tokens'].some((key) => (auth[key] ?? null) !== null);
};

/** Rejects if codex could not be run, which says nothing about the login. */
const loginStatus = (binary: string, home: CodexHome): Promise<LoginStatus> =>
  new Promise((resolve, reject) => {
    const options = { env: home.environment, cwd: home.path, timeout: COMMAND_TIMEOUT_MS };
    execFile(binary, ['login', 'status'], options, (error, stdout, stderr) => {
      if (error !== null && typeof error.code !== 'number') {
        reject(new Error('codex could not report the login', { cause: error }));
        return;
      }
      resolve({ exitCode: error === null ? 0 : Number(error.code), output: `${stdout}\n${stderr}` });
    });
  });
