import type { BackendState } from './banner.ts';
import { fail } from './canonical/failure.ts';
import type { Backend } from './codex/home/backend.ts';
import { detectLogin } from './codex/home/login.ts';
import type { CodexHomes } from './codex/home/prepare-home.ts';
import type { Config } from './config/schema.ts';
import { demoScript } from './demo/demo-script.ts';
import { startModelServer, type ModelServer } from './demo/model-server.ts';
import type { Engine } from './engine/engine.ts';

export interface ChosenBackend {
  readonly backend: Backend;
  readonly state: BackendState;
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
      state: { kind: 'upstream', baseUrl: config.baseUrl },
      close: nothingToClose,
    };
  }
  const login = await detectLogin(homes);
  if (login !== null) {
    return {
      backend: { kind: 'login', login, baseUrl: null },
      state: { kind: 'login', login, home: homes.loginHome },
      close: nothingToClose,
    };
  }
  // Who named a home meant its login: the demo model would only hide that there is none.
  const isNamed = config.codexHome !== null;
  if (isNamed || !config.demoEnabled) {
    const state: BackendState = { kind: 'signed-out', home: homes.loginHome, isNamed };
    return { backend: { kind: 'none' }, state, close: nothingToClose };
  }
  const demo: ModelServer = await startModelServer({
    script: demoScript(),
  });
  return {
    backend: { kind: 'demo', baseUrl: demo.baseUrl },
    state: { kind: 'demo' },
    close: () => demo.close(),
  };
};

/** Serves nobody; the failure says how to change that. */
export const signedOutEngine: Engine = {
  unheard: () => [],
  // eslint-disable-next-line require-yield
  async *run() {
    throw fail('sign_in_required');
  },
};
