import type { GatewayError } from '../../canonical/failure/failure.ts';
import { damaged, unavailable, unexpected } from '../store-errors.ts';

/** SQLite's codes for a file that cannot be used now, and what the operator has to know. */
const UNAVAILABLE: Readonly<Record<number, string>> = {
  5: 'another process has locked it',
  6: 'another process has locked it',
  7: 'it has run out of memory',
  8: 'it cannot be written',
  10: 'reading or writing its file failed',
  13: 'the disk is full',
  14: 'its file cannot be opened',
};

const DAMAGED: ReadonlySet<number> = new Set([11, 26]);

/** An error of the database as one for clients. */
export const fromSqliteError = (error: unknown): GatewayError => {
  const { errcode } = Object(error) as { readonly errcode?: unknown };
  // The upper bits give details.
  const code = typeof errcode === 'number' ? errcode % 256 : -1;
  const reason = UNAVAILABLE[code];
  if (reason !== undefined) return unavailable(reason, error);
  return DAMAGED.has(code) ? damaged(error) : unexpected(error);
};
