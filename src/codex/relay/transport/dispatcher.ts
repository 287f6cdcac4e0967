import { readFile } from 'node:fs/promises';
import { getCACertificates } from 'node:tls';

import { Agent, EnvHttpProxyAgent, type Dispatcher } from 'undici';

import { present } from '../../../kit/json/json.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const CONNECT_TIMEOUT_MS = 10_000;

/** The certificates that codex would trust too: the first of these that is set. */
const ownCertificates = async (environment: Environment): Promise<string | null> => {
  const file = environment['CODEX_CA_CERTIFICATE'] || environment['SSL_CERT_FILE'];
  return file === undefined || file === '' ? null : readFile(file, 'utf8');
};

const LOOPBACK = ['localhost', '127.0.0.1', '::1'];

const isOnThisMachine = (target: string): boolean => {
  const { hostname } = new URL(target);
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
};

/** How the relay connects to its targets: with the proxy and certificates of the environment. */
export const openDispatcher = async (
  targets: readonly string[],
  environment: Environment,
): Promise<Dispatcher> => {
  const own = targets.some((target) => target.startsWith('https:'))
    ? await ownCertificates(environment)
    : null;
  const trust = own === null ? {} : { ca: [...getCACertificates('default'), own] };
  const options = { connect: { timeout: CONNECT_TIMEOUT_MS, ...trust }, keepAliveTimeout: 60_000 };
  // Servers on this machine are never behind a proxy.
  if (targets.every(isOnThisMachine)) return new Agent(options);
  const setting = (name: string): string | undefined => environment[name.toLowerCase()] ?? environment[name];
  const noProxy = setting('NO_PROXY');
  return new EnvHttpProxyAgent({
    ...options,
    requestTls: trust,
    proxyTls: trust,
    ...present({ httpProxy: setting('HTTP_PROXY'), httpsProxy: setting('HTTPS_PROXY') }),
    noProxy: [...(noProxy === undefined ? [] : [noProxy]), ...LOOPBACK].join(','),
  });
};
