import { GatewayError } from '../canonical/failure/failure.ts';
import type { Engine } from '../engine/engine.ts';
import type { ModelDirectory } from '../engine/model-directory.ts';
import type { Backend } from './backend.ts';

/** The backend to use. A choice with the same identity keeps the current backend. */
export interface Choice {
  readonly identity: string;
  /** Changes when the backend should restart its processes, such as for a new token. */
  readonly revision: string;
  make(): Promise<Backend>;
}

export interface ActiveBackendOptions {
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
          async *run(signal, onSettled) {
            for (let backend = asked, plan = planned; ;) {
              let hasBegun = false;
              try {
                for await (const event of plan.run(signal, onSettled)) {
                  hasBegun = true;
                  yield event;
                }
                return;
              } catch (error) {
                // The backend was replaced between being chosen and being called.
                if (hasBegun || backend === current.backend || isClosed || !isShuttingDown(error))
                  throw error;
              }
              ({ backend } = current);
              plan = backend.engine.plan(...turn);
            }
          },
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
