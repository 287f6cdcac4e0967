import type { Dispatcher } from 'undici';

import { problem, warning, ok, type Check, type Finding } from './finding.ts';
import { judgeAnswer, judgeError, look, MAX_WAIT_MS, type Seen } from './reach.ts';

/** A second provider, as it is configured. */
export interface ConfiguredProvider {
  /** `embeddings` or `transcriptions`. */
  readonly name: string;
  readonly baseUrl: string;
  readonly apiKey: string | null;
}

export interface ProviderCheckOptions {
  readonly idleTimeoutMs: number;
  readonly openDispatcher: (url: string) => Promise<Dispatcher>;
}

/** Checks that a second provider answers and accepts its key. Only asks for its models, which costs nothing. */
export const providerCheck = (
  provider: ConfiguredProvider,
  { idleTimeoutMs, openDispatcher }: ProviderCheckOptions,
): Check => ({
  name: provider.name,
  limitMs: Math.min(idleTimeoutMs, MAX_WAIT_MS),
  run: async (signal) => {
    const { baseUrl, apiKey } = provider;
    const dispatcher = await openDispatcher(baseUrl);
    try {
      return judgeProvider(provider, await look(`${baseUrl}/models`, { dispatcher, signal, apiKey }));
    } catch (error) {
      return judgeError(new URL(baseUrl).host, error);
    } finally {
      await dispatcher.destroy();
    }
  },
});

/** Pure. */
export const judgeProvider = ({ name, baseUrl, apiKey }: ConfiguredProvider, seen: Seen): Finding => {
  const { host } = new URL(baseUrl);
  const { status } = seen;
  const facts = { host, status };
  const setting = `PROXY_${name.toUpperCase()}`;
  // A page of Cloudflare is one of many here: the advice for the backend does not apply.
  const { 'cf-mitigated': _, ...headers } = seen.headers;
  const found = judgeAnswer(host, { ...seen, headers });
  if (found.grade !== 'ok') return found;
  if (status === 401 || status === 403) {
    const says =
      apiKey === null ? `${host} requires a key (${status})` : `${host} rejects the key (${status})`;
    return problem(says, `set ${setting}_API_KEY to a key of this provider`, facts);
  }
  if (status >= 300) {
    return warning(
      `${host} answers, but has no list of models at the base URL (${status})`,
      `check ${setting}_BASE_URL, which usually ends in /v1`,
      facts,
    );
  }
  return ok(`${host} answers${apiKey === null ? '' : ', and accepts the key'}`, facts);
};
