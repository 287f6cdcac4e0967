import { writeFile } from 'node:fs/promises';
import path from 'node:path';

import type { AppServerOptions } from '../../codex/app-server.ts';
import type { CodexBinary } from '../../codex/binary.ts';
import { childEnvironment, type Environment } from '../../codex/home/environment.ts';
import { exists } from '../../codex/home/files.ts';
import { startWorker, type Worker } from '../../codex/worker/worker.ts';
import { chosenForSignIn, openScratchHome } from '../../codex/login/scratch-home.ts';

export interface LoginAppServerOptions extends Pick<
  AppServerOptions,
  'clientInfo' | 'initializeTimeoutMs' | 'onLoginCompleted'
> {
  readonly binary: CodexBinary;
  readonly stateDir: string;
  readonly environment: Environment;
  /** The `auth.json` that it starts with; absent: none. */
  readonly auth?: string;
}

/** An app-server that only signs in or out, in a temporary home that is removed when it has stopped. */
export interface LoginAppServer {
  readonly worker: Worker;
  /** Where codex writes the login. */
  readonly authFile: string;
}

export const startLoginAppServer = async (options: LoginAppServerOptions): Promise<LoginAppServer> => {
  const { binary, stateDir, environment, auth, ...client } = options;
  const home = await openScratchHome(stateDir);
  const authFile = path.join(home.path, 'auth.json');
  try {
    if (auth !== undefined) await writeFile(authFile, auth, { mode: 0o600 });
  } catch (error) {
    await home.remove();
    throw error;
  }
  const worker = await startWorker({
    ...client,
    binaryPath: binary.path,
    // It opens no browser, so it needs no more than a worker.
    environment: childEnvironment(environment, {
      codexHome: home.path,
      apiKeyEnv: null,
      certificateFile: null,
      login: chosenForSignIn(environment),
    }),
    cwd: home.path,
    hasHome: () => exists(authFile),
    // It may quote an answer of the issuer.
    onStderr: () => {},
    onListenerError: () => {},
    cleanUp: () => home.remove(),
  });
  return { worker, authFile };
};
