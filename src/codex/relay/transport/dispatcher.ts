import { Agent, EnvHttpProxyAgent, type Dispatcher } from 'undici';

import { isLoopbackUrl, proxySettings, readTrust } from './outbound.ts';
import type { Environment } from '../../home/environment.ts';

const CONNECT_TIMEOUT_MS = 10_000;

/**
 * How the relay connects to its targets: with the proxy and certificates of the environment. `fresh` opens a
 * connection for every request.
 */
export const openDispatcher = async (
  targets: readonly string[],
  environment: Environment,
  connections: 'kept' | 'fresh' = 'kept',
): Promise<Dispatcher> => {
  const trust = await readTrust(targets, environment);
  const options = {
    // One request per connection: a cut, a block page or a slow answer concerns one turn only.
    allowH2: false,
    connect: { timeout: CONNECT_TIMEOUT_MS, ...trust },
    ...(connections === 'kept' ? { keepAliveTimeout: 60_000 } : { pipelining: 0 }),
  };
  // Servers on this machine are never behind a proxy.
  if (targets.every(isLoopbackUrl)) return new Agent(options);
  return new EnvHttpProxyAgent({
    ...options,
    requestTls: trust,
    proxyTls: trust,
    ...proxySettings(environment),
  });
};
