import type { Config } from '../config/schema.ts';

/** The address at which programs on this machine reach the server. */
export const addressOf = ({ host, port }: Pick<Config['http'], 'host' | 'port'>): string =>
  `http://${nameOf(host)}:${port}`;

/** An address to connect to for an address to listen on. */
const nameOf = (host: string): string => {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
};
