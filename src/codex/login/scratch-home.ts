import { writeFile } from 'node:fs/promises';
import path from 'node:path';

import type { Environment } from '../home/environment.ts';
import { requirePrivateState } from '../home/private-folders.ts';
import { createRunDirectory, type RunDirectory } from '../home/run-directories.ts';

const CONFIG = [
  'cli_auth_credentials_store = "file"',
  'check_for_update_on_startup = false',
  '[analytics]',
  'enabled = false',
  '',
].join('\n');

/** A temporary home for signing in or out: below `run`, where the next start removes it if this process is killed. */
export const openScratchHome = async (stateDir: string): Promise<RunDirectory> => {
  await requirePrivateState(stateDir);
  const home = await createRunDirectory(path.resolve(stateDir, 'run'));
  try {
    await writeFile(path.join(home.path, 'config.toml'), CONFIG, { mode: 0o600 });
    return home;
  } catch (error) {
    await home.remove();
    throw error;
  }
};

/** The variables by which the user chooses certificates and the servers of a sign-in. */
export const chosenForSignIn = (environment: Environment): Record<string, string> =>
  Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      value !== undefined && CHOSEN_BY_USER.test(name) ? [[name, value]] : [],
    ),
  );

/**
 * Everything that opening a browser may need, but none of our settings and keys, and no variables that make
 * codex sign in with other credentials.
 */
export const signInEnvironment = (environment: Environment, home: string): Record<string, string> => ({
  ...Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      value === undefined || (/^(PROXY|OPENAI|CODEX)_/.test(name) && !CHOSEN_BY_USER.test(name))
        ? []
        : [[name, value]],
    ),
  ),
  CODEX_HOME: home,
});

const CHOSEN_BY_USER =
  /^CODEX_(CA_CERTIFICATE|APP_SERVER_LOGIN_ISSUER|.*_TOKEN_URL_OVERRIDE|.*AUTHAPI_BASE_URL|.*JWKS_BASE_URL)$/;
