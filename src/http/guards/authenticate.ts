import { createHash, timingSafeEqual } from 'node:crypto';
import { gatewayError, type GatewayError } from '../../canonical/failure/failure.ts';
import { ALL_SCOPES, type Caller } from './scopes.ts';

/** What identifies the sender of a request. */
export interface Credentials {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  /** The address of the peer, which may be a reverse proxy; empty if it is unknown. */
  readonly address: string;
}

/** Makes the id of a configured key. */
interface KeyIdMaker {
  of(key: string): string;
}

/** The keys of the settings, or that of the installation. They have all scopes. */
export interface ConfiguredKeys {
  readonly texts: readonly string[];
  /** Finds the caller of a request with one of them; null: it has another one, or none. */
  readonly find: (headers: Headers) => Caller | null;
}

/** Throws or rejects with `invalid_api_key` if the credentials are unknown. */
export type Authenticator = (credentials: Credentials) => Caller | Promise<Caller>;

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** A short key is hidden completely: two letters of eight are too many. */
const masked = (key: string): string => (key.length < 12 ? '***' : `${key.slice(0, 5)}***${key.slice(-2)}`);

/** Headers used by clients of other APIs. Some clients send several keys, one for each service that they know. */
const KEY_HEADERS = ['x-api-key', 'api-key'];

/** The keys of a request, the bearer token first. */
export const keysOf = (headers: Headers): readonly string[] => {
  const bearer = /^bearer +(.*)$/i.exec(headers.get('authorization') ?? '')?.[1];
  const given = [bearer, ...KEY_HEADERS.map((name) => headers.get(name))].map((key) => key?.trim() ?? '');
  return [...new Set(given)].filter((key) => key !== '');
};

/** Whether a request comes with a key, right or wrong. */
export const hasKey = (headers: Headers): boolean => keysOf(headers).length > 0;

/** The error for a request without a known key. */
export const unknownKey = (headers: Headers): GatewayError => {
  const [first] = keysOf(headers);
  return gatewayError('invalid_api_key', {
    message:
      first === undefined
        ? "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."
        : `Incorrect API key provided: ${masked(first)}. Use the key of this server: its start-up message says where to find it.`,
  });
};

/**
 * Finds the caller of a request if one of its keys is among these; else null. Compares hashes of equal length with every
 * key, so that the time reveals nothing about the keys.
 */
const findCallerIn = (keys: readonly string[], ids: KeyIdMaker): ((headers: Headers) => Caller | null) => {
  const known = keys.map((key) => ({ hash: digest(key), key }));
  return (headers) => {
    let found: string | null = null;
    for (const hash of keysOf(headers).map(digest)) {
      for (const candidate of known) {
        if (timingSafeEqual(candidate.hash, hash)) found ??= candidate.key;
      }
    }
    return found === null ? null : { keyId: ids.of(found), scopes: ALL_SCOPES };
  };
};

export const configuredKeysOf = (texts: readonly string[], ids: KeyIdMaker): ConfiguredKeys => ({
  texts,
  find: findCallerIn(texts, ids),
});

/** Accepts a request if one of its keys is among these. */
export const acceptConfigured =
  ({ find }: ConfiguredKeys): ((credentials: Pick<Credentials, 'headers'>) => Caller) =>
  ({ headers }) => {
    const caller = find(headers);
    if (caller === null) throw unknownKey(headers);
    return caller;
  };
