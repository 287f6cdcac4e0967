import { isIP } from 'node:net';
import { lookup, Resolver } from 'node:dns/promises';

import { Agent } from 'undici';
import ipaddr from 'ipaddr.js';

import { unlessAborted } from '../kit/async/wait.ts';
import { Slots } from '../kit/async/limiter.ts';

/** Creates an agent that connects only to the URL's host; null if its address is not public. */
type PinAgent = (url: URL, signal: AbortSignal) => Promise<Agent | null>;

export interface PinnedAgentOptions {
  readonly allowPrivate: boolean;
  /** Whether a connection serves several requests. */
  readonly keepsConnections: boolean;
  /** Resolves all addresses of a name. For tests. */
  readonly resolve?: ResolveName;
  /** For tests, which have only loopback addresses. */
  readonly isPublic?: (address: string) => boolean;
}

const CONNECT_TIMEOUT_MS = 10_000;

export const createAgentPinner = (options: PinnedAgentOptions): PinAgent => {
  const { allowPrivate, isPublic = isPublicAddress } = options;
  const resolve = options.resolve ?? createNameResolver({ isLocalAllowed: allowPrivate });
  return async (url, signal) => {
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    const addresses = isIP(host) === 0 ? await unlessAborted(resolve(host, signal), signal) : [host];
    // Every address must be allowed, because the network chooses one.
    const isAllowed = addresses.length > 0 && (allowPrivate || addresses.every(isPublic));
    return isAllowed ? agentFor(addresses, options) : null;
  };
};

/** An agent that connects only to these addresses. The name is not resolved again, so a later DNS change has no effect. */
const agentFor = (addresses: readonly string[], { keepsConnections }: PinnedAgentOptions): Agent => {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  return new Agent({
    // A server that a client names must not gain the larger surface of HTTP/2.
    allowH2: false,
    pipelining: keepsConnections ? 1 : 0,
    connect: {
      timeout: CONNECT_TIMEOUT_MS,
      lookup: (_hostname, options, callback) => {
        const first = all[0];
        if (options.all === true) callback(null, all);
        else if (first === undefined) callback(new Error('the name has no address'), '', 0);
        else callback(null, first.address, first.family);
      },
    },
  });
};

/** IPv6 addresses routed on the internet; others are local, mapped or reserved. */
const GLOBAL_UNICAST_V6 = ipaddr.parseCIDR('2000::/3');

/**
 * Whether an address belongs to the public internet. Forms that contain an IPv4 address (mapped, NAT64, 6to4, Teredo …)
 * are not public: what they reach depends on the local network.
 */
export const isPublicAddress = (address: string): boolean => {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  return parsed.kind() === 'ipv4' || parsed.match(GLOBAL_UNICAST_V6);
};

/** All addresses of a name. */
type ResolveName = (hostname: string, signal: AbortSignal) => Promise<readonly string[]>;

interface NameResolverOptions {
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
