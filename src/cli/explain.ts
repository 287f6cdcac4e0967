import { UnusableBinary } from '../codex/binary.ts';
import { UnusableLogin } from '../codex/home/login-file.ts';
import { UntrustedPath, untrusted } from '../codex/home/trusted-path.ts';
import { UnusableStore } from '../compose/open-store.ts';
import { loadConfig } from '../compose/features.ts';
import { ConfigError } from '../config/load.ts';
import type { Config } from '../config/schema.ts';

/** Ends a command with a one-line message for the user. */
export class PlainError extends Error {}

/** Errors whose messages are written for users. */
const PLAIN = [ConfigError, PlainError, UntrustedPath, UnusableBinary, UnusableLogin, UnusableStore];

/** A one-line message for the user; null for bugs. */
export const explain = (error: unknown): string | null => {
  if (PLAIN.some((kind) => error instanceof kind)) return (error as Error).message;
  const { code, syscall, path, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOSPC' && path === undefined)
    return `The disk is full (${message}): make room, or name another PROXY_STATE_DIR.`;
  if (code === undefined || path === undefined || syscall === undefined) return null;
  return `Cannot use ${path} (${code}): check PROXY_STATE_DIR, PROXY_CODEX_WORKDIR and CODEX_HOME.`;
};

/** Where the server listens. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Explains why the server cannot listen, and what to do. */
export const explainListening = (error: unknown, { host, port }: ListenAddress): unknown => {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (syscall !== 'listen' && syscall !== 'getaddrinfo') return error;
  if (code === 'EADDRINUSE') {
    return new PlainError(
      `Port ${port} on ${host} is in use, perhaps by another instance of this server: stop it, or set PORT to another port.`,
    );
  }
  if (code === 'EACCES')
    return new PlainError(`This user is not allowed to use port ${port}: set PORT to a port above 1023.`);
  return new PlainError(`Cannot listen on ${host}, port ${port} (${code}): check PROXY_HOST.`);
};

/** Loads the configuration. Throws `ConfigError` if it is invalid, or if another user may change its file. */
export const loadSettings = async (
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Config> => {
  const config = loadConfig(environment);
  const { configFile } = config.state;
  if (configFile === null) return config;
  const problem = await untrusted(configFile, 'name another config file with PROXY_CONFIG');
  if (problem !== null) throw new ConfigError([`Config file ${configFile}: ${problem}`]);
  return config;
};

/** The address at which programs on this machine reach the server. */
export const addressOf = ({ host, port }: ListenAddress): string => `http://${nameOf(host)}:${port}`;

/** An address to connect to for an address to listen on. */
const nameOf = (host: string): string => {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
};
