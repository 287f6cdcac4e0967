import { row } from '../../canonical/failure/catalogue-row.ts';
import { featureErrors, type FeatureFailures } from '../../canonical/failure/failure.ts';

/** Errors of keys: only a caller with the right secret sees the first five. */
export const KEY_FAILURES = {
  key_expired: row(401, 'This API key has expired.', 'the key is past its expiry', {
    final: true,
    source: 'key',
    after: 'missing_scope',
  }),
  key_paused: row(
    401,
    'This API key is paused. Its administrator can resume it.',
    'the key was paused; it works again when it is resumed',
    { final: true, source: 'key' },
  ),
  key_revoked: row(401, 'This API key was revoked.', 'the key was revoked, which is final', {
    final: true,
    source: 'key',
  }),
  address_not_allowed: row(
    403,
    'This API key cannot be used from your address.',
    'the address of the client is not among those of the key',
    { final: true, source: 'key' },
  ),
  storage_limit_exceeded: row(
    429,
    'This server keeps nothing more for this key.',
    'as much is kept for the key as [allowed](keys.md#storage), and the request would be stored: delete something, wait until it expires, or send `store: false`',
    { final: true, source: 'key' },
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
  key_limit_exceeded: row(
    429,
    'This key has reached one of its limits.',
    'a limit of the API key would be exceeded; the message and the field `limit` name it and when it resets, and so does `retry-after`',
    { source: 'key', after: 'concurrency_limit' },
  ),
} as const satisfies FeatureFailures;

/** Makes an error of a key. */
export const keyError = featureErrors(KEY_FAILURES);
