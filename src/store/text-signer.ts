import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';

import type { Clock } from '../kit/ambient.ts';
import type { MemoryStore } from './store.ts';

/** Names the form: `cap1.`, the text as base64url, a point, the MAC as base64url. */
const FORM = 'cap1.';
const MAC_CHARS = 43;

/** Signs texts that clients keep for us, with HMAC-SHA-256. Clients can read them but not change them. */
export class TextSigner {
  #keys: readonly KeyObject[];

  constructor(keys: readonly Uint8Array[]) {
    this.#keys = keys.map((key) => createSecretKey(key));
  }

  /** From now on the first key signs; signatures of all of them are accepted. */
  use(keys: readonly Uint8Array[]): void {
    this.#keys = keys.map((key) => createSecretKey(key));
  }

  sign(text: string): string {
    const [key] = this.#keys;
    if (key === undefined) throw new Error('there is no key to sign with');
    const signed = FORM + Buffer.from(text).toString('base64url');
    return `${signed}.${macOf(key, signed)}`;
  }

  /** Null: none of these keys made it, or it was changed. */
  open(signature: string): string | null {
    const end = signature.length - MAC_CHARS - 1;
    if (!signature.startsWith(FORM) || signature[end] !== '.') return null;
    const signed = signature.slice(0, end);
    const mac = Buffer.from(signature.slice(end + 1));
    const isOurs = this.#keys.some((key) => {
      const own = Buffer.from(macOf(key, signed));
      return own.length === mac.length && timingSafeEqual(own, mac);
    });
    return isOurs ? Buffer.from(signed.slice(FORM.length), 'base64url').toString() : null;
  }
}

const KEY_BYTES = 32;

/** A key written as hexadecimal digits or base64. Throws if it is shorter: others could guess it. */
export const keyBytes = (written: string): Uint8Array => {
  const key = Buffer.from(written, /^[0-9a-fA-F]{64}$/.test(written) ? 'hex' : 'base64');
  if (key.length < KEY_BYTES) throw new Error(`a key for signatures has ${KEY_BYTES} bytes`);
  return key;
};

const macOf = (key: KeyObject, text: string): string =>
  createHmac('sha256', key).update(text).digest('base64url');

/** Clients keep what it signed for as long as they like. */
const KEPT_MS = 100 * 365 * 24 * 60 * 60_000;

/** The key with which all instances of a store sign: that of the first one which offered its own. */
export const sharedKey = async (memory: MemoryStore, own: string, clock: Clock): Promise<string> => {
  const expiresAt = clock.now() + KEPT_MS;
  const key = await memory.claim('signature-key', 'current', own, expiresAt);
  // Encrypts it with the current PROXY_STORE_KEY, so that an earlier one can be removed.
  await memory.put('signature-key', 'current', key, expiresAt);
  return key;
};
