import type { GatewayError } from '../../canonical/failure/failure.ts';
import { damaged, unavailable, unexpected } from '../store-errors.ts';

/** A prepared statement is not there, or is there already. */
const BEHIND_POOLER = 'PROXY_DATABASE_URL names a pooler that changes connections between transactions';

/** Codes of PostgreSQL for a database that cannot be used now, and what the operator has to know. */
const UNAVAILABLE: Readonly<Record<string, string>> = {
  '25006': 'it cannot be written',
  '26000': BEHIND_POOLER,
  '28000': 'it rejects the user of PROXY_DATABASE_URL',
  '28P01': 'it rejects the password of PROXY_DATABASE_URL',
  '42P05': BEHIND_POOLER,
  '3D000': 'the database of PROXY_DATABASE_URL does not exist',
  '42501': 'the user of PROXY_DATABASE_URL lacks a permission',
  '53100': 'the disk is full',
  '53200': 'it has run out of memory',
  '55P03': 'another process has locked it',
  '57014': 'it did not answer in time',
};

const DAMAGED: ReadonlySet<string> = new Set(['XX001', 'XX002']);

/** The transaction was rolled back because of another one: the same may succeed now. */
const CONFLICT: ReadonlySet<string> = new Set(['23503', '23505', '40001', '40P01']);

const codeOf = (error: unknown): string => {
  const { code } = Object(error) as { readonly code?: unknown };
  return typeof code === 'string' ? code : '';
};

export const isConflict = (error: unknown): boolean => CONFLICT.has(codeOf(error));

/** Messages of `pg` for a connection that broke or was not made: it gives them no code. */
const BROKEN_MESSAGE =
  /^(?:Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|timeout expired|Client was closed|Query read timeout)/;
/** Of the system, or of a server that starts, ends, or has too many connections. */
const BROKEN_CODE = /^(?:E[A-Z_]{3,}|08\w{3}|57P0[1-3]|53300)$/;

/** The connection broke or could not be made. */
export const isBroken = (error: unknown): boolean =>
  BROKEN_CODE.test(codeOf(error)) || (error instanceof Error && BROKEN_MESSAGE.test(error.message));

/** The connection was broken before: nothing was sent. */
export const isUnsent = (error: unknown): boolean =>
  error instanceof Error && error.message.endsWith('is not queryable');

/** An error of the database as one for clients. */
export const fromPostgresError = (error: unknown): GatewayError => {
  const code = codeOf(error);
  const reason = UNAVAILABLE[code];
  if (reason !== undefined) return unavailable(reason, error);
  if (isBroken(error)) return unavailable(`it cannot be reached${code === '' ? '' : ` (${code})`}`, error);
  return DAMAGED.has(code) ? damaged(error) : unexpected(error);
};
