import type { BackendState } from './banner.ts';
import { gatewayError } from '../canonical/failure/failure.ts';
import { directLogin, type BackendTarget } from '../codex/home/backend.ts';
import { createLoginWatch } from '../codex/login/login-watch.ts';
import type { CodexHomes } from '../codex/home/prepare-home.ts';
import type { Config } from '../config/schema.ts';
import { demoScript } from '../demo/demo-script.ts';
import { createDemoThread } from '../demo/threaded-demo.ts';
import { startModelServer } from '../demo/model-server.ts';
import type { Engine } from '../engine/engine.ts';

/** Who should answer. */
export interface ChosenBackend {
  /** The same as long as it is the same backend, with the same account. */
  readonly identity: string;
  /** Another one when its processes should start over. */
  readonly revision: string;
  readonly state: BackendState;
  open(): Promise<OpenBackend>;
}

export interface OpenBackend {
  readonly backend: BackendTarget;
  close(): Promise<void>;
}

/** The environment variable by which the app-server gets the key: it is never written to a file. */
const UPSTREAM_KEY_ENV = 'PROXY_UPSTREAM_API_KEY';

/**
 * An upstream that was named; else the Codex login; else the demo model; else none. Asked again and
 * again, because a login may come and go.
 */
export const createChooser = (
  config: Config['upstream'],
  homes: CodexHomes,
  /** Gets a sentence about an `auth.json` that cannot be a login. */
  onRefusedLogin: (why: string) => void = () => {},
): (() => Promise<ChosenBackend>) => {
  const { baseUrl, codexHome } = config;
  if (baseUrl !== null) {
    const apiKeyEnv = config.apiKey === null ? null : UPSTREAM_KEY_ENV;
    const backend: BackendTarget = { kind: 'upstream', baseUrl, apiKeyEnv };
    return async () => fixed('upstream', backend, { kind: 'upstream', baseUrl });
  }
  const presentLogin = createLoginWatch(homes, onRefusedLogin);
  const home = homes.loginHome;
  return async () => {
    const login = await presentLogin();
    if (login !== null) {
      const { kind, account, revision } = login;
      const chosen = fixed(`login ${kind} ${account}`, directLogin(kind), {
        kind: 'login',
        login: kind,
        home,
      });
      return { ...chosen, revision };
    }
    // The user named a home and expects its login: the demo model would hide that it is missing.
    const isNamed = codexHome !== null;
    if (!isNamed && config.demoEnabled) return demo;
    return fixed('none', { kind: 'none' }, { kind: 'signed-out', home, isNamed });
  };
};

const fixed = (identity: string, backend: BackendTarget, state: BackendState): ChosenBackend => ({
  identity,
  revision: '',
  state,
  open: async () => ({ backend, close: async () => {} }),
});

const demo: ChosenBackend = {
  identity: 'demo',
  revision: '',
  state: { kind: 'demo' },
  async open() {
    const thread = createDemoThread();
    const server = await startModelServer({ script: demoScript({ computeSteps: thread.computeSteps }) });
    return {
      backend: { kind: 'demo', baseUrl: server.baseUrl },
      async close() {
        await server.close();
        await thread.close();
      },
    };
  },
};

/** Rejects every request; the failure says how to change that. */
export const signedOutEngine: Engine = {
  plan: () => ({
    ignored: [],
    refused: [],
    isCurrent: () => true,
    // eslint-disable-next-line require-yield
    async *run() {
      throw gatewayError('sign_in_required');
    },
  }),
};
