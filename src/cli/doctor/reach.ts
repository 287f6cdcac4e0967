import path from 'node:path';

import { request, type Dispatcher } from 'undici';

import { ok, problem, warning, type Check, type Finding } from './finding.ts';
import { openCodexBinary } from '../../codex/binary.ts';
import { authOf } from '../../codex/home/access-token.ts';
import { readWholeLogin } from '../../codex/home/login-file.ts';
import { readLogin } from '../../codex/login/read-login.ts';
import type { Config } from '../../config/schema.ts';
import { loginHomeOf } from '../login.ts';

/** The backend's answer to a request without a login. */
export interface BackendAnswer {
  readonly status: number;
  /** Lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The beginning of the body. */
  readonly text: string;
}

const MAX_WAIT_MS = 10_000;
/** Enough to find the title of a page. */
const MAX_TEXT = 4_000;

interface ReachOptions {
  readonly url: string;
  /** How long the backend may be silent. */
  readonly idleTimeoutMs: number;
  /** The same proxy and certificates as the relay's. */
  readonly openDispatcher: (url: string) => Promise<Dispatcher>;
}

/** Checks that the backend is reachable. Sends no login and no key. */
export const reachCheck = ({ url, idleTimeoutMs, openDispatcher }: ReachOptions): Check => ({
  name: 'backend',
  limitMs: Math.min(idleTimeoutMs, MAX_WAIT_MS),
  run: async (signal) => {
    const { host } = new URL(url);
    const dispatcher = await openDispatcher(url);
    try {
      return judgeAnswer(host, await look(url, { dispatcher, signal, apiKey: null }));
    } catch (error) {
      return judgeError(host, error);
    } finally {
      await dispatcher.destroy();
    }
  },
});

interface LookOptions {
  readonly dispatcher: Dispatcher;
  readonly signal: AbortSignal;
  readonly apiKey: string | null;
}

/** Sends a GET and reads the beginning of the answer. */
const look = async (url: string, { dispatcher, signal, apiKey }: LookOptions): Promise<BackendAnswer> => {
  const authorization = apiKey === null ? {} : { authorization: `Bearer ${apiKey}` };
  const headers = { accept: 'application/json', ...authorization };
  const answer = await request(url, { dispatcher, signal, headers });
  let text = '';
  for await (const chunk of answer.body) {
    text += String(chunk);
    if (text.length >= MAX_TEXT) break;
  }
  const received = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as const);
  return { status: answer.statusCode, headers: Object.fromEntries(received), text: text.slice(0, MAX_TEXT) };
};

/** Pure. Any API answer is fine, even an error; an HTML page means that something else answered. */
export const judgeAnswer = (host: string, { status, headers, text }: BackendAnswer): Finding => {
  const facts = { host, status };
  if (headers['cf-mitigated'] !== undefined) {
    return problem(
      `${host} answers with a Cloudflare challenge (${status})`,
      'try another network (no VPN, no data centre), or PROXY_WIRE=off, which uses the HTTP client of codex',
      facts,
    );
  }
  if (status === 407) {
    return problem(
      `the proxy in front of ${host} requires a password`,
      'set HTTPS_PROXY=http://user:password@host:port',
      facts,
    );
  }
  if (/\bhtml\b/.test(headers['content-type'] ?? '')) {
    const title = /<title[^>]*>([^<]{1,100})/i.exec(text)?.[1]?.trim() ?? 'without a title';
    return problem(
      `${host} answered with a web page (${status}, ${JSON.stringify(title)})`,
      'check for a proxy, a firewall or a sign-in page of the network, and check the base URL',
      facts,
    );
  }
  if (status >= 500) {
    return warning(`${host} answers, but with ${status}`, 'the service may have a problem: try later', facts);
  }
  return ok(`${host} answers (${status} without a login)`, facts);
};

/** Pure. Explains a network error by the part to look at. */
export const judgeError = (host: string, error: unknown): Finding => {
  const code = codeOf(error);
  const facts = { host, code };
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return problem(
      `the host name ${host} cannot be resolved (${code})`,
      'check the network, DNS, HTTPS_PROXY',
      facts,
    );
  }
  if (/CERT|TLS|SSL|SIGNED|ISSUER|SIGNATURE/.test(code)) {
    return problem(
      `the certificate of ${host} is not trusted (${code})`,
      'if a proxy issues its own certificates, set SSL_CERT_FILE to its root certificate',
      facts,
    );
  }
  if (code === 'ECONNREFUSED' || code === 'ECONNRESET' || code === 'EHOSTUNREACH' || code === 'ENETUNREACH') {
    return problem(
      `no connection to ${host} (${code})`,
      'check the base URL, the firewall, HTTPS_PROXY',
      facts,
    );
  }
  if (/TIMEOUT|ETIMEDOUT/.test(code)) {
    return problem(`${host} does not answer in time`, 'check the firewall and HTTPS_PROXY', facts);
  }
  return problem(
    `${host} cannot be reached (${code})`,
    'check the network, the base URL, HTTPS_PROXY',
    facts,
  );
};

/** An error for several addresses contains one error for each. */
const codeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return 'unknown';
  if ('code' in error && typeof error.code === 'string') return error.code;
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  return error.cause === undefined ? error.message : codeOf(error.cause);
};

/** A second provider, as it is configured. */
interface ConfiguredProvider {
  /** `embeddings` or `transcriptions`. */
  readonly name: string;
  readonly baseUrl: string;
  readonly apiKey: string | null;
}

interface ProviderCheckOptions {
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
export const judgeProvider = (
  { name, baseUrl, apiKey }: ConfiguredProvider,
  seen: BackendAnswer,
): Finding => {
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

const OPENAI = 'https://api.openai.com/v1';

/** The URL of the backend's model list, which costs nothing. Null if the backend is inside this server. */
export const backendUrl = async (config: Config): Promise<string | null> => {
  if (config.upstream.baseUrl !== null) return `${config.upstream.baseUrl}/models`;
  const { accessToken } = config.upstream;
  const auth =
    accessToken === null
      ? await readWholeLogin(path.join(loginHomeOf(config), 'auth.json'))
      : authOf(accessToken);
  const login = auth === null ? null : readLogin(auth);
  if (login === null) return null;
  if (login.kind === 'api-key') return `${OPENAI}/models`;
  const { version } = await openCodexBinary(config.codex.binary);
  return `${config.upstream.chatgptBaseUrl}/codex/models?client_version=${version}`;
};
