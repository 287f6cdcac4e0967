import { row, type CatalogueEntry } from './catalogue-row.ts';

/** Errors of keys: only a caller with the right secret sees the first five. */
export const KEY_FAILURES = {
  key_expired: row(401, 'This API key has expired.', 'the key is past its expiry', { final: true }),
  key_paused: row(
    401,
    'This API key is paused. Its administrator can resume it.',
    'the key was paused; it works again when it is resumed',
    { final: true },
  ),
  key_revoked: row(401, 'This API key was revoked.', 'the key was revoked, which is final', { final: true }),
  address_not_allowed: row(
    403,
    'This API key cannot be used from your address.',
    'the address of the client is not among those of the key',
    { final: true },
  ),
  storage_limit_exceeded: row(
    429,
    'This server keeps nothing more for this key.',
    'as much is kept for the key as `PROXY_KEY_STORAGE_MB` or its own limit allows, and the request would be stored: delete something, wait until it expires, or send `store: false`. The field `storage` has the numbers. Nothing was sent to the backend',
    { final: true },
  ),
  unknown_key: row(404, 'This key was not found.', 'no named key has this id'),
  key_already_revoked: row(
    409,
    'This key was revoked, which is final. Create another one.',
    'changing, rotating, pausing or resuming a revoked key',
    { final: true },
  ),
  too_many_keys: row(
    400,
    'There are too many keys: revoke one that is not used any more.',
    'creating more than 10,000 keys that are not revoked',
  ),
} as const satisfies Record<string, CatalogueEntry>;
