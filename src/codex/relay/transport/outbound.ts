import { readFile } from 'node:fs/promises';
import { getCACertificates } from 'node:tls';

import { present } from '../../../kit/json/json.ts';
import type { Environment } from '../../home/environment.ts';

/** The extra certificates of connections; empty: Node's own. */
export interface Trust {
  readonly ca?: string[];
}

/** The certificates that codex would trust too: the first of these that is set. */
export const readTrust = async (targets: readonly string[], environment: Environment): Promise<Trust> => {
  const file = environment['CODEX_CA_CERTIFICATE'] || environment['SSL_CERT_FILE'];
  const isNeeded = targets.some((target) => target.startsWith('https:'));
  if (!isNeeded || file === undefined || file === '') return {};
  return { ca: [...getCACertificates('default'), await readFile(file, 'utf8')] };
};

const LOOPBACK = ['localhost', '127.0.0.1', '::1'];

export const isLoopbackUrl = (target: string): boolean => {
  const { hostname } = new URL(target);
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
};

/** The proxies of the environment. */
export interface ProxySettings {
  readonly httpProxy?: string;
  readonly httpsProxy?: string;
  /** Hosts that are reached directly, separated by commas. */
  readonly noProxy: string;
}

export const proxySettings = (environment: Environment): ProxySettings => {
  const setting = (name: string): string | undefined => environment[name.toLowerCase()] ?? environment[name];
  const noProxy = setting('NO_PROXY');
  return {
    ...present({ httpProxy: setting('HTTP_PROXY'), httpsProxy: setting('HTTPS_PROXY') }),
    noProxy: [...(noProxy === undefined ? [] : [noProxy]), ...LOOPBACK].join(','),
  };
};

/** The proxy for a URL, by the same rules as the HTTP client's; null: none. */
export const proxyFor = (target: URL, { httpProxy, httpsProxy, noProxy }: ProxySettings): string | null => {
  if (isLoopbackUrl(target.href) || isExempt(target, noProxy)) return null;
  const isSecure = target.protocol === 'https:' || target.protocol === 'wss:';
  return (isSecure ? httpsProxy : null) || httpProxy || null;
};

const isExempt = (target: URL, noProxy: string): boolean => {
  const isSecure = target.protocol === 'https:' || target.protocol === 'wss:';
  const port = target.port || (isSecure ? '443' : '80');
  const host = target.hostname.toLowerCase();
  return noProxy.split(/[,\s]/).some((entry) => {
    if (entry === '*') return true;
    const [, name = entry, onlyPort = null] = /^(.+):(\d+)$/.exec(entry) ?? [];
    const domain = name.replace(/^\*?\./, '').toLowerCase();
    if (domain === '' || (onlyPort !== null && onlyPort !== port)) return false;
    return host === domain || host.endsWith(`.${domain}`);
  });
};
