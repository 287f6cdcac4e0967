import type { JsonObject } from '../../kit/json/json.ts';
import type { Clock } from '../../kit/ambient.ts';
import { within } from '../../kit/async/wait.ts';
import type { ModelList } from '../../canonical/models/model-names.ts';
import { accountEntries, type AccountModel } from './account-list.ts';
import type { AccountAnswer } from './ask-account.ts';
import { cleanCatalogue, type Catalogue } from '../home/catalogue.ts';
import type { SavedLists } from './saved-lists.ts';

/** The models of one ChatGPT login: the backend's list for it, and the bundled list until that is known. */
export interface AccountModels {
  /**
   * For a worker about to start. Waits briefly for the first answer of the backend; a later answer is for
   * later workers.
   */
  catalogue(): Promise<Catalogue>;
  /** What is known now. */
  current(): Catalogue;
  /** The same for `/v1/models`. */
  models(): Promise<ModelList>;
  /** Where the list comes from, and when the backend sent it. */
  readonly origin: ModelsOrigin;
  /** Asks again in the background, unless asked recently. Called for an unknown model. */
  refresh(): void;
  /** Called when the backend's list changes; running workers have the old one. */
  onChange(listener: (catalogue: Catalogue) => void): void;
  close(): Promise<void>;
}

export interface ModelsOrigin {
  /** `kept`: saved by an earlier run. */
  readonly source: 'backend' | 'kept' | 'bundled';
  readonly asOfMs: number | null;
}

export interface AccountModelsOptions {
  readonly bundled: readonly JsonObject[];
  /** Asks the backend. Has its own timeout. */
  readonly ask: (signal: AbortSignal) => Promise<AccountAnswer>;
  /**
   * Whether the token is valid for a while. Asking would refresh an expiring token, as would a running
   * worker, and if both refresh at the same time one is signed out. At the first ask no worker is running.
   */
  readonly mayAskAgain: () => Promise<boolean>;
  /** The last valid answer for this account. */
  readonly kept: SavedLists;
  readonly clock: Clock;
  readonly onFailed: (reason: string) => void;
  /** How long a start waits for the backend. */
  readonly firstWaitMs?: number;
}

const FIRST_WAIT_MS = 3_000;
/** Plans and models change by the day. */
const ASK_EVERY_MS = 60 * 60_000;
/** Minimum time between two requests by `refresh`. */
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
      // For example a full disk: keep using the current list.
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
  const firstOrLate = within(first, options.firstWaitMs ?? FIRST_WAIT_MS);

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
