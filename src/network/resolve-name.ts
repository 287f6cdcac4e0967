import { lookup, Resolver } from 'node:dns/promises';

import { unlessAborted } from '../kit/async/abort.ts';
import { Slots } from '../kit/async/slots.ts';

/** All addresses of a name. */
export type ResolveName = (hostname: string, signal: AbortSignal) => Promise<readonly string[]>;

export interface NameResolverOptions {
  /** Whether names are wanted that only this machine or its network knows. */
  readonly isLocalAllowed: boolean;
  /** Handed in by tests; those of the machine otherwise. */
  readonly servers?: readonly string[];
  readonly timeoutMs?: number;
}

/** Over all requests. Each one has a socket of its own. */
const NAMES_AT_ONCE = 64;
const TIMEOUT_MS = 2_000;
const TRIES = 2;

/**
 * Queries name servers itself. The system resolver uses the four threads of the process: a few names
 * without an answer would block everything else that needs them, such as writing files.
 */
export const createNameResolver = (options: NameResolverOptions): ResolveName => {
  const asking = new Slots(NAMES_AT_ONCE);
  // What the system's own way finds besides is a hosts file and names of a local network. One at a
  // time leaves the other threads free.
  const looking = new Slots(1);
  return async (hostname, signal) => {
    if (isLocalhost(hostname)) return LOOPBACK;
    const found = await asking.run(() => ask(hostname, options, signal), signal);
    if (found.length > 0) return found;
    if (!options.isLocalAllowed) throw new Error('the name does not exist');
    return looking.run(() => unlessAborted(lookUp(hostname), signal), signal);
  };
};

/** No name server is to be asked for it. */
const isLocalhost = (hostname: string): boolean => /^(?:.*\.)?localhost\.?$/i.test(hostname);
const LOOPBACK = ['127.0.0.1', '::1'];

const ask = async (
  hostname: string,
  { servers, timeoutMs = TIMEOUT_MS }: NameResolverOptions,
  signal: AbortSignal,
): Promise<readonly string[]> => {
  // One for each name: cancelling ends all that a resolver does.
  const resolver = new Resolver({ timeout: timeoutMs, tries: TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  const cancel = (): void => resolver.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    const answers = await Promise.all([
      resolver.resolve4(hostname).catch(noneIfUnknown),
      resolver.resolve6(hostname).catch(noneIfUnknown),
    ]);
    return answers.flat();
  } finally {
    signal.removeEventListener('abort', cancel);
    resolver.cancel();
  }
};

/** The server knows that there is no such name, or no such address. Other trouble is trouble. */
const UNKNOWN: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);

const noneIfUnknown = (error: NodeJS.ErrnoException): readonly string[] => {
  if (UNKNOWN.has(error.code)) return [];
  throw error;
};

const lookUp = async (hostname: string): Promise<readonly string[]> =>
  (await lookup(hostname, { all: true })).map(({ address }) => address);
