import { lookup, Resolver } from 'node:dns/promises';

import { unlessAborted } from '../kit/async/wait.ts';
import { Slots } from '../kit/async/limiter.ts';

/** All addresses of a name. */
export type ResolveName = (hostname: string, signal: AbortSignal) => Promise<readonly string[]>;

export interface NameResolverOptions {
  /** Whether names of this machine and its network may be resolved. */
  readonly isLocalAllowed: boolean;
  /** Default: the machine's name servers. */
  readonly servers?: readonly string[];
  readonly timeoutMs?: number;
}

/** For all requests. Each lookup has its own socket. */
const NAMES_AT_ONCE = 64;
const TIMEOUT_MS = 2_000;
const TRIES = 2;

/**
 * Queries name servers directly. The system resolver uses the four threads of the process: a few names without an answer
 * would block everything else that needs them, such as writing files.
 */
export const createNameResolver = (options: NameResolverOptions): ResolveName => {
  const asking = new Slots(NAMES_AT_ONCE);
  // The system resolver also knows the hosts file and names of the local network. One lookup at a time leaves the other
  // threads free.
  const looking = new Slots(1);
  return async (hostname, signal) => {
    if (isLocalhost(hostname)) return LOOPBACK;
    const found = await asking.run(() => ask(hostname, options, signal), signal);
    if (found.length > 0) return found;
    if (!options.isLocalAllowed) throw new Error('the name does not exist');
    return looking.run(() => unlessAborted(lookUp(hostname), signal), signal);
  };
};

/** Never sent to a name server. */
const isLocalhost = (hostname: string): boolean => /^(?:.*\.)?localhost\.?$/i.test(hostname);
const LOOPBACK = ['127.0.0.1', '::1'];

const ask = async (
  hostname: string,
  { servers, timeoutMs = TIMEOUT_MS }: NameResolverOptions,
  signal: AbortSignal,
): Promise<readonly string[]> => {
  // One per name, because cancelling ends all lookups of a resolver.
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

/** The server reports no such name or address. Other codes are errors. */
const UNKNOWN: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);

const noneIfUnknown = (error: NodeJS.ErrnoException): readonly string[] => {
  if (UNKNOWN.has(error.code)) return [];
  throw error;
};

const lookUp = async (hostname: string): Promise<readonly string[]> =>
  (await lookup(hostname, { all: true })).map(({ address }) => address);
