import { createHash, createHmac, randomBytes, scrypt } from 'node:crypto';

/** A new secret. Only its hash and its ends are kept. */
export interface NewSecret {
  readonly secret: string;
  readonly hash: string;
  readonly hint: string;
}

const PREFIX = 'sk-proxy-';
/** 32 random bytes in base64url. */
const FORM = /^sk-proxy-[\w-]{43}$/;
const SHOWN_CHARS = 4;

/** Whether a text can be the secret of a named key: others are not worth a question to the database. */
export const isSecretForm = (text: string): boolean => FORM.test(text);

/**
 * A fast hash is enough: it protects 256 random bits, which cannot be guessed, unlike a password. It also makes the
 * lookup in a map safe: the time depends on the hash, from which nothing about a secret follows.
 */
export const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex');

export const mintSecret = (): NewSecret => {
  const secret = `${PREFIX}${randomBytes(32).toString('base64url')}`;
  return { secret, hash: hashOf(secret), hint: `${PREFIX}…${secret.slice(-SHOWN_CHARS)}` };
};

/**
 * How a server proves that it knows a key, to a program that knows it too and sends a random nonce. The proof contains
 * the address at which the server was reached: a program at another port that passes the question on gets a proof
 * that its caller rejects.
 */
export const KEY_PROOF_PATH = '/v1/codex/key-proof';

/** So that the same key never signs anything else. */
const LABEL = 'codex-app-server-proxy key proof 1';
/** 32 random bytes in base64url. */
const NONCE = /^[\w-]{43}$/;
/** About 80 ms and 32 MB. */
const COST = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 };
const KEY_BYTES = 32;

export const isNonce = (text: string): boolean => NONCE.test(text);

/**
 * Slow for a key that someone has chosen: a program that got a proof could otherwise try millions of guesses a second
 * against it. Guessing a random key is hopeless anyway.
 */
export const proofKeyOf = async (key: string, salt: string): Promise<Buffer> => {
  const salted = `${LABEL} ${salt}`;
  if (isSecretForm(key)) return createHmac('sha256', key).update(salted).digest();
  return new Promise((resolve, reject) => {
    scrypt(key, salted, KEY_BYTES, COST, (error, derived) =>
      error === null ? resolve(derived) : reject(error),
    );
  });
};

export const proofOf = (proofKey: Uint8Array, nonce: string, address: string): string =>
  createHmac('sha256', proofKey)
    .update(JSON.stringify([LABEL, nonce, address]))
    .digest('base64url');
