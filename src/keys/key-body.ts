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
  storageMb,
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
    storageMb,
  } satisfies KeyBody);

/** Fields that bodies of earlier versions lack. */
const LATER = { storageMb: null } satisfies Partial<KeyBody>;

/** Bodies were checked before they were written. */
export const keyOf = (row: KeyRow): ApiKey => ({
  ...LATER,
  ...(JSON.parse(row.body) as KeyBody),
  id: row.id,
  hint: row.hint,
  createdAt: row.createdAt,
  expiresAt: row.expiresAt,
  pausedAt: row.pausedAt,
  revokedAt: row.revokedAt,
  lastUsedAt: row.lastUsedAt,
});
