import { spawn } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { createLineDecoder } from '../../kit/text/line-decoder.ts';
import type { CodexBinary } from '../binary.ts';
import type { Environment } from '../home/environment.ts';
import { readIfPresent } from '../home/files.ts';
import { readLoginFile, replaceLogin, UnusableLogin } from '../home/login-file.ts';
import { openScratchHome, signInEnvironment } from './scratch-home.ts';

/**
 * Signs in and out with `codex login` and `codex logout` in a temporary home. So the user's `config.toml` has
 * no influence (a broken one stops codex, another one stores the login in the system keyring, where we do not
 * look), codex writes nothing to the user's home but the login, and an aborted sign-in keeps the previous
 * login.
 */
export interface SignIn {
  readonly binary: CodexBinary;
  readonly stateDir: string;
  /** Where `auth.json` is kept: our own home, or the user's CODEX_HOME. */
  readonly loginHome: string;
  readonly environment: Environment;
  /** `ignore` is for tests: people must see and answer codex's prompts. */
  readonly stdio: 'inherit' | 'ignore';
  /** Called with each line that codex writes to stderr, including its line end. */
  readonly onErrorLine: (line: string) => void;
}

/** Resolves to codex's exit code; with 0 the login has been saved. */
export const signIn = async (options: SignIn, flags: readonly string[]): Promise<number> => {
  // A user's folder keeps its permissions; a new one is for this user only.
  await mkdir(options.loginHome, { recursive: true, mode: 0o700 });
  return inScratchHome(options, async (home) => {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const code = await runCodex(options, home, ['login', ...flags]);
      if (code !== 0) return code;
      const auth = await readIfPresent(path.join(home, 'auth.json'));
      if (auth !== null) {
        await replaceLogin(path.join(options.loginHome, 'auth.json'), auth);
        return 0;
      }
      if (attempt < ATTEMPTS) options.onErrorLine(STARTED_AGAIN);
    }
    throw new UnusableLogin(
      `codex exited ${ATTEMPTS} times without a login: another program opens its success page. Sign in with --device.`,
    );
  });
};

/**
 * codex waits for the browser with a server on port 1455. A request to `/success` there, which any web page
 * can send, makes it exit with success although the user has not signed in.
 */
const ATTEMPTS = 5;
const STARTED_AGAIN =
  '\nThe success page was opened before the sign-in was complete. The sign-in starts again: use the new address.\n\n';

/** Also revokes the login at its issuer, if reachable. */
export const signOut = async (options: SignIn): Promise<number> => {
  const file = path.join(options.loginHome, 'auth.json');
  const found = await readLoginFile(file);
  if (found.kind === 'missing') return 0;
  if (found.kind === 'refused') throw new UnusableLogin(`${found.why} Delete it to sign out.`);
  return inScratchHome(options, async (home) => {
    await writeFile(path.join(home, 'auth.json'), found.text, { mode: 0o600 });
    const code = await runCodex(options, home, ['logout']);
    if (code === 0) await rm(file, { force: true });
    return code;
  });
};

const inScratchHome = async (
  { stateDir }: SignIn,
  use: (home: string) => Promise<number>,
): Promise<number> => {
  const home = await openScratchHome(stateDir);
  try {
    return await use(home.path);
  } finally {
    await home.remove();
  }
};

/** codex receives the terminal's signals too; wait for it to exit, then clean up. */
const runCodex = async (
  { binary, environment, stdio, onErrorLine }: SignIn,
  home: string,
  words: readonly string[],
): Promise<number> => {
  const child = spawn(binary.path, words, {
    cwd: home,
    env: signInEnvironment(environment, home),
    stdio: [stdio, stdio, 'pipe'],
  });
  const lines = createLineDecoder();
  const say = (some: readonly string[]): void => some.forEach((line) => onErrorLine(`${line}\n`));
  child.stderr?.on('data', (chunk: Buffer) => say(lines.push(chunk)));
  const stay = (): void => {};
  const end = (): void => void child.kill('SIGTERM');
  process.on('SIGINT', stay).on('SIGTERM', end);
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      // Like a shell: a process ended by a signal has no exit code.
      child.once('close', (code) => resolve(code ?? 130));
    });
  } finally {
    say(lines.end());
    process.off('SIGINT', stay).off('SIGTERM', end);
  }
};
