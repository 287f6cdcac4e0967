import { createHash } from 'node:crypto';

import { beginEvents, eventsBefore } from '../canonical/events/handle-events.ts';
import { GatewayError, gatewayError } from '../canonical/failure/failure.ts';
import type { Engine } from '../engine/engine.ts';
import type { ModelDirectory } from '../engine/model-directory.ts';
import type { Backend } from './backend.ts';
import type { BackendState } from './banner.ts';
import { directLogin, type BackendTarget } from '../codex/home/backend.ts';
import { createLoginWatch } from '../codex/login/login-watch.ts';
import type { CodexHomes } from '../codex/home/prepare-home.ts';
import type { Config } from '../config/schema.ts';
import { demoScript } from '../demo/demo-script.ts';
import { createDemoThread } from '../demo/threaded-demo.ts';
import { startModelServer } from '../demo/model-server.ts';
import type { Clock } from '../kit/ambient.ts';

/** Duration of a bypass. */
export const BYPASS_MS = 15 * 60_000;
/** Consecutive block pages that open the bypass. */
const PAGES = 3;

/**
 * Some networks answer programs that they take for bots with a block page, but accept codex. After repeated pages, the
 * app-server connects to its backend directly for a while.
 */
export class RelayBypass {
  readonly #clock: Clock;
  #pages = 0;
  #until = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isOpen(): boolean {
    return this.#clock.now() < this.#until;
  }

  /** Returns true if this page opens the bypass. */
  blocked(): boolean {
    this.#pages += 1;
    if (this.#pages < PAGES || this.isOpen()) return false;
    this.#pages = 0;
    this.#until = this.#clock.now() + BYPASS_MS;
    return true;
  }

  served(): void {
    this.#pages = 0;
  }
}

/** The backend to use. */
export interface ChosenBackend {
  /** The same for the same backend and account, on every instance. */
  readonly identity: string;
  /** Changes when the processes should restart. */
  readonly revision: string;
  readonly state: BackendState;
  open(): Promise<OpenBackend>;
}

interface OpenBackend {
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
export const originOf = ({ identity }: ChosenBackend): string =>
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

/** The backend to use. A choice with the same identity keeps the current backend. */
export interface Choice {
  readonly identity: string;
  /** Changes when the backend should restart its processes, such as for a new token. */
  readonly revision: string;
  make(): Promise<Backend>;
}

interface ActiveBackendOptions {
  /** The backend to use now. Polled, so it must be cheap while nothing changes. */
  choose(): Promise<Choice>;
  readonly lookEveryMs: number;
  readonly onSwitch: (backend: Backend) => void;
  /** Another backend could not be created; the current one stays, and it is tried again. */
  readonly onTrouble: (error: unknown) => void;
}

/** Runs each turn on the current backend. A replaced backend finishes its turns first. */
export interface ActiveBackend {
  readonly engine: Engine;
  readonly models: ModelDirectory;
  readonly backend: Backend;
  /** Checks at once instead of at the next interval. */
  look(): Promise<void>;
  close(timeoutMs: number): Promise<void>;
}

/** Running turns are not limited here; only a shutdown ends them. */
const RETIRE_WITHIN_MS = 2_147_483_647;

export const createActiveBackend = async (options: ActiveBackendOptions): Promise<ActiveBackend> => {
  const first = await options.choose();
  let current: { choice: Choice; readonly backend: Backend } = { choice: first, backend: await first.make() };
  const retiring = new Map<Backend, Promise<void>>();
  let looking: Promise<void> | null = null;
  let isClosed = false;
  /** Log a persistent error only once. */
  let lastTrouble: string | null = null;
  const onTrouble = (error: unknown): void => {
    const trouble = String(error);
    if (trouble !== lastTrouble) options.onTrouble(error);
    lastTrouble = trouble;
  };

  const retire = (backend: Backend): void => {
    const leaving = backend
      .close(RETIRE_WITHIN_MS)
      .catch(options.onTrouble)
      .finally(() => retiring.delete(backend));
    retiring.set(backend, leaving);
  };

  const lookOnce = async (): Promise<void> => {
    const choice = await options.choose();
    if (isSame(choice, current.choice)) lastTrouble = null;
    if (isClosed || isSame(choice, current.choice)) return;
    if (choice.identity === current.choice.identity) {
      current.choice = choice;
      current.backend.renew();
      return;
    }
    const backend = await choice.make();
    if (isClosed) {
      await backend.close(0);
      return;
    }
    const before = current.backend;
    current = { choice, backend };
    lastTrouble = null;
    options.onSwitch(backend);
    retire(before);
  };

  const look = (): Promise<void> =>
    (looking ??= lookOnce()
      .catch(onTrouble)
      .finally(() => {
        looking = null;
      }));

  const timer = setInterval(() => void look(), options.lookEveryMs);
  timer.unref();

  return {
    engine: {
      plan(...turn) {
        const asked = current.backend;
        const planned = asked.engine.plan(...turn);
        return {
          ...planned,
          isCurrent: () => asked === current.backend && planned.isCurrent(),
          run: (signal, onSettled) =>
            beginEvents(async () => {
              for (let backend = asked, plan = planned; ;) {
                const events = plan.run(signal, onSettled)[Symbol.asyncIterator]();
                try {
                  const { value } = await events.next();
                  return eventsBefore(value === undefined ? [] : [value], events);
                } catch (error) {
                  // The backend was replaced between being chosen and being called.
                  if (backend === current.backend || isClosed || !isShuttingDown(error)) throw error;
                }
                ({ backend } = current);
                plan = backend.engine.plan(...turn);
              }
            }),
        };
      },
    },
    models: { names: () => current.backend.models.names() },
    get backend() {
      return current.backend;
    },
    look,
    async close(timeoutMs) {
      isClosed = true;
      clearInterval(timer);
      await looking;
      await Promise.all([current.backend, ...retiring.keys()].map((backend) => backend.close(timeoutMs)));
    },
  };
};

const isSame = (a: Choice, b: Choice): boolean => a.identity === b.identity && a.revision === b.revision;

const isShuttingDown = (error: unknown): boolean =>
  error instanceof GatewayError && error.failure.kind === 'shutting_down';
