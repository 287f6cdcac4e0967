import { GatewayError } from '../canonical/failure/failure.ts';
import type { Engine } from '../engine/engine.ts';
import type { ModelDirectory } from '../engine/model-directory.ts';
import type { Backend } from './backend.ts';

/** What answers now. A choice of the same identity is served by the south that is there. */
export interface Choice {
  readonly identity: string;
  /** Changes when the south should start over with new processes, such as for a new token. */
  readonly revision: string;
  make(): Promise<Backend>;
}

export interface SwitchboardOptions {
  /** What should answer now. Asked again and again, so it must be cheap while nothing changes. */
  choose(): Promise<Choice>;
  readonly lookEveryMs: number;
  readonly onSwitch: (backend: Backend) => void;
  /** Another choice could not be made; what answered before goes on, and it is tried again. */
  readonly onTrouble: (error: unknown) => void;
}

/** Serves each turn by the south of the moment. One that is no longer wanted finishes its turns first. */
export interface ActiveBackend {
  readonly engine: Engine;
  readonly models: ModelDirectory;
  readonly backend: Backend;
  /** Looks at once instead of in a while. */
  look(): Promise<void>;
  close(timeoutMs: number): Promise<void>;
}

/** A running turn may take as long as it takes; shutting down is what ends it. */
const RETIRE_WITHIN_MS = 2_147_483_647;

export const createActiveBackend = async (options: SwitchboardOptions): Promise<ActiveBackend> => {
  const first = await options.choose();
  let current: { choice: Choice; readonly backend: Backend } = { choice: first, backend: await first.make() };
  const retiring = new Map<Backend, Promise<void>>();
  let looking: Promise<void> | null = null;
  let isClosed = false;
  /** Log a persistent error only once. */
  let toldTrouble: string | null = null;
  const onTrouble = (error: unknown): void => {
    const trouble = String(error);
    if (trouble !== toldTrouble) options.onTrouble(error);
    toldTrouble = trouble;
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
    if (isSame(choice, current.choice)) toldTrouble = null;
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
    toldTrouble = null;
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
                // It was let go between being chosen and being asked.
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
