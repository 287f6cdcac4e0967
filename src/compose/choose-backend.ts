import { createHash } from 'node:crypto';

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

/** The backend to use. */
export interface ChosenBackend {
  /** The same for the same backend and account, on every instance. */
  readonly identity: string;
  /** Changes when the processes should restart. */
  readonly revision: string;
  readonly state: BackendState;
  open(): Promise<OpenBackend>;
}

export interface OpenBackend {
  readonly backend: BackendTarget;
  close(): Promise<void>;
}

/** Passes the key to the app-server by environment variable: it is never written to a file. */
export const UPSTREAM_KEY_ENV = 'PROXY_UPSTREAM_API_KEY';

/** A configured upstream, else the Codex login, else the demo model, else none. Polled, because a login may change. */
export const createChooser = (
  config: Config['upstream'],
  homes: CodexHomes,
  /** Receives a sentence about an invalid `auth.json`. */
  onRefusedLogin: (why: string) => void = () => {},
): (() => Promise<ChosenBackend>) => {
  const { baseUrl, codexHome } = config;
  if (baseUrl !== null) {
    const apiKeyEnv = config.apiKey === null ? null : UPSTREAM_KEY_ENV;
    const backend: BackendTarget = { kind: 'upstream', baseUrl, apiKeyEnv };
    const identity = `upstream ${baseUrl} ${config.apiKey === null ? '' : fingerprintOf(config.apiKey)}`;
    return async () => fixed(identity, backend, { kind: 'upstream', baseUrl });
  }
  const presentLogin = createLoginWatch(homes, onRefusedLogin);
  const home = homes.loginHome;
  return async () => {
    const login = await presentLogin();
    if (login !== null) {
      const { kind, account, revision, accessToken } = login;
      const backend = directLogin(kind, accessToken?.kind ?? null, account);
      const chosen = fixed(`login ${kind} ${account}`, backend, {
        kind: 'login',
        login: kind,
        home,
        accessToken,
      });
      return { ...chosen, revision };
    }
    // The user configured a home and expects its login: the demo model would hide that it is missing.
    const isNamed = codexHome !== null;
    if (!isNamed && config.demoEnabled) return demo;
    return fixed('none', { kind: 'none' }, { kind: 'signed-out', home, isNamed });
  };
};

/** Names a backend and its account in what is stored and signed, without revealing them. */
export const originOf = ({ identity }: Pick<ChosenBackend, 'identity'>): string =>
  createHash('sha256').update(identity).digest('base64url').slice(0, 16);

/** Distinguishes accounts without revealing their keys. */
const fingerprintOf = (apiKey: string): string =>
  createHash('sha256').update(apiKey).digest('hex').slice(0, 16);

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

/** Rejects every request with an explanation of how to sign in. */
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

/** The setting that takes precedence over a login; null: there is none. */
export const overridesLogin = ({ upstream }: Config): string | null => {
  if (upstream.baseUrl !== null) return 'PROXY_UPSTREAM_BASE_URL';
  return upstream.accessToken === null ? null : 'CODEX_ACCESS_TOKEN';
};
