import { fail } from './canonical/failure.ts';
import { directLogin, type Backend } from './codex/home/backend.ts';
import { detectLogin } from './codex/home/login.ts';
import type { CodexHomes } from './codex/home/prepare-home.ts';
import type { Config } from './config/schema.ts';
import { demoScript } from './demo/demo-script.ts';
import { startModelServer, type ModelServer } from './demo/model-server.ts';
import type { Engine } from './engine/engine.ts';

export interface ChosenBackend {
  readonly backend: Backend;
  /** For the banner. */
  readonly description: string;
  close(): Promise<void>;
}

const nothingToClose = async (): Promise<void> => {};

/** The environment variable by which the app-server gets the key: it is never written to a file. */
const UPSTREAM_KEY_ENV = 'PROXY_UPSTREAM_API_KEY';

/** An upstream that was named; else the Codex login; else the demo model; else none. */
export const chooseBackend = async (
  config: Config['upstream'],
  homes: CodexHomes,
): Promise<ChosenBackend> => {
  if (config.baseUrl !== null) {
    const apiKeyEnv = config.apiKey === null ? null : UPSTREAM_KEY_ENV;
    return {
      backend: { kind: 'upstream', baseUrl: config.baseUrl, apiKeyEnv },
      description: `the provider at ${config.baseUrl}`,
      close: nothingToClose,
    };
  }
  const login = await detectLogin(homes);
  if (login !== null) {
    return {
      backend: directLogin(login),
      description: `the Codex login (${login === 'chatgpt' ? 'ChatGPT' : 'API key'}) in ${homes.loginHome}`,
      close: nothingToClose,
    };
  }
  if (!config.demoEnabled) {
    return { backend: { kind: 'none' }, description: 'none: nobody is signed in', close: nothingToClose };
  }
  const demo: ModelServer = await startModelServer({
    script: demoScript(),
  });
  return {
    backend: { kind: 'demo', baseUrl: demo.baseUrl },
    description: 'the built-in demo model (no account needed; it is not intelligent)',
    close: () => demo.close(),
  };
};

export const signInCommand = (homes: CodexHomes): string =>
  `run "CODEX_HOME=${homes.loginHome} npx codex login" and start this server again.`;

/** Serves nobody; the failure says how to change that. */
export const signedOutEngine: Engine = {
  unheard: () => [],
  // eslint-disable-next-line require-yield
  async *run() {
    throw fail('sign_in_required');
  },
};
