import { readFile } from 'node:fs/promises';
import { getCACertificates } from 'node:tls';

import { Agent, EnvHttpProxyAgent, type Dispatcher } from 'undici';

import type { Backend } from './codex/home/backend.ts';
import { OVERRIDABLE, profileOf } from './codex/relay/profile.ts';
import { startRelay, type Relay } from './codex/relay/relay.ts';
import type { Config } from './config/schema.ts';
import type { Logger } from './observe/log.ts';
import type { Metrics } from './observe/metrics.ts';

export interface PlacedRelay {
  readonly relay: Relay | null;
  /** The backend as the app-server is told it: the relay, if there is one. */
  readonly backend: Backend;
  close(): Promise<void>;
}

/** Where codex itself sends the requests of a login. */
const LOGIN_TARGETS = {
  chatgpt: 'https://chatgpt.com/backend-api/codex',
  'api-key': 'https://api.openai.com/v1',
} as const;

const CONNECT_TIMEOUT_MS = 10_000;

/** Puts a relay between the app-server and its backend, unless the deployment does not want one. */
export const placeRelay = async (
  backend: Backend,
  config: Config['upstream'],
  environment: Environment,
  { logger, metrics }: { readonly logger: Logger; readonly metrics: Metrics },
): Promise<PlacedRelay> => {
  if (config.wire === 'off' || backend.kind === 'none')
    return { relay: null, backend, close: async () => {} };
  const unknown = unknownParams(config.params ?? []);
  if (unknown.length > 0) logger.warn({ unknown }, 'PROXY_UPSTREAM_PARAMS names parameters that are none');
  const target = targetOf(backend);
  const dispatcher = await openDispatcher(target, environment);
  const relay = await startRelay({
    target,
    apiKey: backend.kind === 'upstream' ? config.apiKey : null,
    dispatcher,
    profile: profileOf(backend, config.params),
    onRetry: (reason) => {
      metrics.upstreamRetries.inc();
      logger.warn({ reason }, 'the backend did not answer; trying again');
    },
    onLearnt: (model, field) => logger.warn({ model, field }, 'the backend refuses a parameter'),
    onFirstByte: (ms) => metrics.upstreamFirstByteSeconds.observe(ms / 1000),
    onUnplaced: () => metrics.relayUnplaced.inc(),
    onBug: (err) => logger.error({ err }, 'the relay broke off a request'),
  });
  return {
    relay,
    backend: behind(backend, relay.baseUrl),
    async close() {
      await relay.close();
      await dispatcher.destroy();
    },
  };
};

const unknownParams = (names: readonly string[]): readonly string[] => {
  const known = new Set<string>([...OVERRIDABLE, 'all', 'none']);
  return names.filter((name) => !known.has(name));
};

type RealBackend = Exclude<Backend, { kind: 'none' }>;

const targetOf = (backend: RealBackend): string =>
  backend.kind === 'login' ? (backend.baseUrl ?? LOGIN_TARGETS[backend.login]) : backend.baseUrl;

/** The key of a provider stays here: the relay sets it, the app-server does not need it. */
const behind = (backend: RealBackend, baseUrl: string): Backend =>
  backend.kind === 'upstream' ? { kind: 'upstream', baseUrl, apiKeyEnv: null } : { ...backend, baseUrl };

type Environment = Readonly<Record<string, string | undefined>>;

/** The way to a backend: past a proxy if there is one, with the certificates that codex would trust. */
export const openDispatcher = async (target: string, environment: Environment): Promise<Dispatcher> =>
  dispatcherFor(target, environment, target.startsWith('https:') ? await ownCertificates(environment) : null);

/** The certificates that codex would trust too: it reads the first of these that is set. */
const ownCertificates = async (environment: Environment): Promise<string | null> => {
  const file = environment['CODEX_CA_CERTIFICATE'] || environment['SSL_CERT_FILE'];
  return file === undefined || file === '' ? null : readFile(file, 'utf8');
};

const dispatcherFor = (target: string, environment: Environment, own: string | null): Dispatcher => {
  const trust = own === null ? {} : { ca: [...getCACertificates('default'), own] };
  const options = { connect: { timeout: CONNECT_TIMEOUT_MS, ...trust }, keepAliveTimeout: 60_000 };
  const { hostname } = new URL(target);
  // What runs on this machine is never behind a proxy.
  if (hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.'))
    return new Agent(options);
  const setting = (name: string): string | undefined => environment[name.toLowerCase()] ?? environment[name];
  const [httpProxy, httpsProxy, noProxy] = [
    setting('HTTP_PROXY'),
    setting('HTTPS_PROXY'),
    setting('NO_PROXY'),
  ];
  return new EnvHttpProxyAgent({
    ...options,
    requestTls: trust,
    proxyTls: trust,
    ...(httpProxy === undefined ? {} : { httpProxy }),
    ...(httpsProxy === undefined ? {} : { httpsProxy }),
    ...(noProxy === undefined ? {} : { noProxy }),
  });
};
