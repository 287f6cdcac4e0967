import { createHash, randomBytes } from 'node:crypto';

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
