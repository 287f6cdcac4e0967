import type { KeyRow } from '../store/ports/keys.ts';
import type { ApiKey, KeyPolicy } from './key.ts';

/** The part of a policy that the database keeps as one text. */
type KeyBody = Omit<KeyPolicy, 'expiresAt'>;

export const bodyOf = ({
  name,
  note,
  scopes,
  models,
  effort,
  addresses,
  concurrency,
  limits,
}: KeyPolicy): string =>
  JSON.stringify({
    name,
    note,
    scopes,
    models,
    effort,
    addresses,
    concurrency,
    limits,
  } satisfies KeyBody);

/** Bodies were checked before they were written. */
export const keyOf = (row: KeyRow): ApiKey => ({
  ...(JSON.parse(row.body) as KeyBody),
  id: row.id,
  hint: row.hint,
  createdAt: row.createdAt,
  expiresAt: row.expiresAt,
  pausedAt: row.pausedAt,
  revokedAt: row.revokedAt,
  lastUsedAt: row.lastUsedAt,
});
