import { randomBytes, timingSafeEqual } from 'node:crypto';

/** Something that cannot be guessed and may stand in a path. */
export const newSecret = (): string => randomBytes(24).toString('base64url');

/** What stands behind `/secret/` in the path of a request; null for anybody who does not know the secret. */
export const behindSecret = (secret: string, url: string): string | null => {
  const prefix = Buffer.from(`/${secret}/`);
  const given = Buffer.from(url).subarray(0, prefix.length);
  // In constant time: how much of a guess is right must not be seen.
  if (given.length !== prefix.length || !timingSafeEqual(given, prefix)) return null;
  return url.slice(prefix.length);
};
