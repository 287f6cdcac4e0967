import type { ModelList } from '../../canonical/models/model-names.ts';
import type { Clock } from '../../kit/ambient.ts';
import { within } from '../../kit/async/wait.ts';
import { getText } from '../get-text.ts';
import { readProviderModels } from './provider-list.ts';

export interface ProviderModelsOptions {
  /** The relay, which adds the key; or the provider itself. */
  readonly baseUrl: string;
  readonly apiKey: string | null;
  /** Listed until the provider has answered, or if it has no list. */
  readonly bundled: ModelList;
  readonly clock: Clock;
  readonly onFailed: (reason: string) => void;
}

export interface ProviderModels {
  models(): Promise<ModelList>;
  /** Asks now, unless asked recently. */
  refresh(): void;
  close(): Promise<void>;
}

/** How long the first callers wait for the provider, counted from the start. */
const FIRST_WAIT_MS = 3_000;
const ASK_TIMEOUT_MS = 10_000;
/** A list stays valid for long; after a failure it is requested again soon. */
const MAX_AGE_MS = 6 * 60 * 60_000;
const RETRY_AFTER_MS = 5 * 60_000;
const REFRESH_EVERY_MS = 60_000;
const MAX_BYTES = 16 * 1024 * 1024;

/** The models of a provider: requested at the start, and again when the list is old. */
export const createProviderModels = (options: ProviderModelsOptions): ProviderModels => {
  const closing = new AbortController();
  let list: ModelList | null = null;
  let askedAtMs = 0;
  let asking: Promise<void> | null = null;

  const ask = async (): Promise<void> => {
    askedAtMs = options.clock.now();
    try {
      const read = readProviderModels(await fetchList(options, closing.signal), options.bundled);
      if (read === null) options.onFailed('the answer is not a list of models');
      // Keep the same object if nothing has changed.
      else if (JSON.stringify(read) !== JSON.stringify(list)) list = read;
    } catch (error) {
      if (!closing.signal.aborted) options.onFailed(error instanceof Error ? error.message : String(error));
    } finally {
      asking = null;
    }
  };
  const askIfOlderThan = (ms: number): void => {
    if (asking === null && !closing.signal.aborted && options.clock.now() - askedAtMs >= ms) asking = ask();
  };
  asking = ask();
  const first = within(asking, FIRST_WAIT_MS);

  return {
    async models() {
      await first;
      askIfOlderThan(list === null ? RETRY_AFTER_MS : MAX_AGE_MS);
      return list ?? options.bundled;
    },
    refresh: () => askIfOlderThan(REFRESH_EVERY_MS),
    async close() {
      closing.abort();
      await asking;
    },
  };
};

const fetchList = async (
  { baseUrl, apiKey }: ProviderModelsOptions,
  closing: AbortSignal,
): Promise<unknown> => {
  const answer = await getText(`${baseUrl}/models`, {
    headers: {
      accept: 'application/json',
      'user-agent': 'codex-app-server-proxy',
      ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
    },
    signal: AbortSignal.any([closing, AbortSignal.timeout(ASK_TIMEOUT_MS)]),
    maxBytes: MAX_BYTES,
  });
  if (answer.status !== 200) throw new Error(`the provider answered with status ${answer.status}`);
  return JSON.parse(answer.text) as unknown;
};
