import { isInRanges, type TrustedProxies } from '../../http/guards/client-address.ts';
import type { Caller } from '../../http/guards/scopes.ts';
import { isSecretForm } from './key-secret.ts';
import type { LiveKeys } from './live-keys.ts';
import { keysOf, unknownKey, type Authenticator, type Credentials } from '../../http/guards/authenticate.ts';
import { keyError } from './failures.ts';

export interface NamedKeysDeps {
  /** Finds the callers with a key of the configuration. */
  readonly configured: (headers: Headers) => Caller | null;
  readonly keys: Pick<LiveKeys, 'bySecret' | 'refresh' | 'used'>;
  readonly proxies: TrustedProxies;
  readonly onWrongAddress: (facts: { readonly keyId: string; readonly address: string }) => void;
}

/** Accepts keys of the configuration and named keys. Known keys cost no question to the database. */
export const acceptNamedKeys = (deps: NamedKeysDeps): Authenticator => {
  const { configured } = deps;
  return (credentials) => {
    const { headers } = credentials;
    const caller = configured(headers);
    if (caller !== null) return caller;
    const secrets = keysOf(headers).filter(isSecretForm);
    const known = named(secrets, credentials, deps);
    if (known !== null) return known;
    if (secrets.length === 0) throw unknownKey(headers);
    return afterRefresh(secrets, credentials, deps);
  };
};

/** The key may have been made a moment ago, by another process. */
const afterRefresh = async (
  secrets: readonly string[],
  credentials: Credentials,
  deps: NamedKeysDeps,
): Promise<Caller> => {
  await deps.keys.refresh();
  const found = named(secrets, credentials, deps);
  if (found === null) throw unknownKey(credentials.headers);
  return found;
};

/** The first of these keys that is known. Throws if it cannot be used now, or from here. */
const named = (
  secrets: readonly string[],
  { address: peer, headers }: Credentials,
  { keys, proxies, onWrongAddress }: NamedKeysDeps,
): Caller | null => {
  for (const secret of secrets) {
    const found = keys.bySecret(secret);
    if (found === null) continue;
    const { caller, ranges } = found;
    if (ranges.length > 0) {
      const address = proxies.clientAddress(peer, headers);
      if (!isInRanges(address, ranges)) {
        onWrongAddress({ keyId: caller.keyId, address });
        throw keyError('address_not_allowed');
      }
    }
    keys.used(caller.keyId);
    return caller;
  }
  return null;
};
