import { isIP } from 'node:net';

import { Agent } from 'undici';

import { unlessAborted } from '../kit/async/wait.ts';
import { isPublicAddress } from './public-address.ts';
import { createNameResolver, type ResolveName } from './resolve-name.ts';

/** Creates an agent that connects only to the URL's host; null if its address is not public. */
export type PinAgent = (url: URL, signal: AbortSignal) => Promise<Agent | null>;

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
