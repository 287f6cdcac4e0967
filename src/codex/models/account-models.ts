import type { JsonObject } from '../../kit/json/json.ts';
import type { Clock } from '../../kit/ambient.ts';
import { within } from '../../kit/async/within.ts';
import type { ModelList } from '../../canonical/models/model-names.ts';
import { accountEntries, type AccountModel } from './account-list.ts';
import type { AccountAnswer } from './ask-account.ts';
import { cleanCatalogue, type Catalogue } from '../home/catalogue.ts';
import type { SavedLists } from './saved-lists.ts';

/** The models of one ChatGPT login: what the backend lists for it, and the bundled list until then. */
export interface AccountModels {
  /**
   * For a worker that is about to start. At first it waits for the backend, but not long: an answer that
   * comes later is for later workers.
   */
  catalogue(): Promise<Catalogue>;
  /** What is known now. */
  current(): Catalogue;
  /** The same for `/v1/models`. */
  models(): Promise<ModelList>;
  /** Where that comes from, and when the backend said it. */
  readonly origin: ModelsOrigin;
  /** Asks again in the background, unless it was asked just now: for a model that nobody knows. */
  refresh(): void;
  /** Told when the backend lists something else than before: running workers do not know of it. */
  onChange(listener: (catalogue: Catalogue) => void): void;
  close(): Promise<void>;
}

export interface ModelsOrigin {
  /** `kept`: from an earlier start. */
  readonly source: 'backend' | 'kept' | 'bundled';
  readonly asOfMs: number | null;
}

export interface AccountModelsOptions {
  readonly bundled: readonly JsonObject[];
  /** Asks the backend. Bounded in time by itself. */
  readonly ask: (signal: AbortSignal) => Promise<AccountAnswer>;
  /**
   * Whether the login's token is good for a while. Asking would refresh one that is not, and so will a
   * running worker; of two who do so at the same time one is thrown out. At the first ask no worker runs.
   */
  readonly mayAskAgain: () => Promise<boolean>;
  /** The last good answer for this account. */
  readonly kept: SavedLists;
  readonly clock: Clock;
  readonly onFailed: (reason: string) => void;
}

/** How long a start waits for the backend. */
const FIRST_WAIT_MS = 3_000;
/** Accounts change plans, and models appear, by the day. */
const ASK_EVERY_MS = 60 * 60_000;
/** How often `refresh` asks at the most. */
const REFRESH_EVERY_MS = 60_000;

export const createAccountModels = async (options: AccountModelsOptions): Promise<AccountModels> => {
  const { bundled, kept, clock } = options;
  const catalogueOf = (listed: readonly AccountModel[] | null): Catalogue =>
    cleanCatalogue(listed === null ? bundled : accountEntries(listed, bundled), 'chatgpt');
  const listeners: ((catalogue: Catalogue) => void)[] = [];
  const closing = new AbortController();
  const earlier = await kept.read();
  let current = catalogueOf(earlier?.models ?? null);
  let origin: ModelsOrigin =
    earlier === null
      ? { source: 'bundled', asOfMs: null }
      : { source: 'kept', asOfMs: Math.min(earlier.asOfMs, clock.now()) };
  let askedAtMs = clock.now();

  const take = async (models: readonly AccountModel[]): Promise<void> => {
    const asOfMs = clock.now();
    const next = catalogueOf(models);
    const isNew = next.json !== current.json;
    origin = { source: 'backend', asOfMs };
    if (isNew || JSON.stringify(next.list) !== JSON.stringify(current.list)) current = next;
    if (isNew) for (const listener of listeners) listener(current);
    await kept.write({ asOfMs, models });
  };
  const askOnce = async (): Promise<void> => {
    askedAtMs = clock.now();
    try {
      const answer = await options.ask(closing.signal);
      if (closing.signal.aborted) return;
      if (answer.kind === 'listed') await take(answer.models);
      else options.onFailed(answer.reason);
    } catch (error) {
      // A full disk, say: what is known goes on being used.
      if (!closing.signal.aborted) options.onFailed(error instanceof Error ? error.message : String(error));
    }
  };
  let asking: Promise<void> | null = null;
  const start = (work: () => Promise<void>): Promise<void> => {
    const run = async (): Promise<void> => {
      try {
        await work();
      } finally {
        asking = null;
      }
    };
    asking = run();
    return asking;
  };
  const first = start(askOnce);
  const askAgain = async (): Promise<void> => {
    if (await options.mayAskAgain().catch(() => false)) await askOnce();
  };
  const refresh = (): void => {
    if (asking !== null || closing.signal.aborted || clock.now() - askedAtMs < REFRESH_EVERY_MS) return;
    void start(askAgain);
  };
  const timer = setInterval(refresh, ASK_EVERY_MS);
  timer.unref();
  const firstOrLate = within(first, FIRST_WAIT_MS);

  return {
    async catalogue() {
      await firstOrLate;
      return current;
    },
    current: () => current,
    async models() {
      await firstOrLate;
      return current.list;
    },
    get origin() {
      return origin;
    },
    refresh,
    onChange: (listener) => void listeners.push(listener),
    async close() {
      clearInterval(timer);
      closing.abort();
      await asking;
    },
  };
};
