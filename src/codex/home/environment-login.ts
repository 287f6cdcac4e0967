import { ACCESS_TOKEN_ENV, authOf } from './access-token.ts';
import { revisionOf, type KeptLogin } from './login-store.ts';

/**
 * The login of an access token in the environment. It is passed to app-servers in theirs and never written to
 * a file. It stays the same until this process ends, and no `auth.json` is read or changed.
 */
export const environmentLogin = (token: string): KeptLogin => {
  const text = authOf(token);
  const nothing = async (): Promise<void> => {};
  return {
    origin: 'environment',
    childEnvironment: { [ACCESS_TOKEN_ENV]: token },
    stamp: async () => 'environment',
    find: async () => ({ kind: 'text', text }),
    read: async () => text,
    revisionOf,
    copyInto: nothing,
    release: nothing,
    collect: nothing,
    rescue: nothing,
    renewed: nothing,
    successorOf: async () => null,
    wasRenewedSince: async () => false,
  };
};
