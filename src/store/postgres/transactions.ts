import { setTimeout as sleep } from 'node:timers/promises';

import type { CompiledQuery, Kysely } from 'kysely';
import type { Pool, PoolClient } from 'pg';

import type { GatewayError } from '../../canonical/failure/failure.ts';
import type { Slots } from '../../kit/async/limiter.ts';
import type { RemoteDatabase } from '../operation.ts';
import { unavailable } from '../store-errors.ts';
import type { Tables } from '../tables.ts';
import { cutConnection, kyselyOf, sendTogether } from './connections.ts';
import { isBroken, isConflict, isUnsent, fromPostgresError } from './postgres-errors.ts';

export interface Work<Result> {
  /** Reads need no transaction, and batches make their own. */
  readonly kind: 'read' | 'write' | 'batch';
  run(connection: Connection): Promise<Result>;
}

export interface Connection extends RemoteDatabase {
  readonly db: Kysely<Tables>;
}

/** Who takes turns for the connections of the pool. */
export interface Turns {
  /** As many as there are connections. */
  readonly slots: Slots;
  /** Whose operation it is. */
  readonly key: string;
  readonly timeoutMs: number;
}

/** Waiting for a connection. */
const MAX_WAITING = 10_000;

/** Of the same work after a conflict. */
const MAX_ATTEMPTS = 8;
const FIRST_PAUSE_MS = 5;
const MAX_PAUSE_MS = 500;

interface State {
  /** The connection that is in use. */
  client: PoolClient | null;
  isLate: boolean;
  attempts: number;
  isCut: boolean;
  /** Why the last attempt failed. */
  problem: GatewayError | null;
}

/**
 * Runs work on a connection of the pool, again after a conflict with another transaction, and again on another connection
 * if one broke before the end of the transaction, or if it is a batch, which finds what it wrote before. All of this ends after the time limit.
 */
export const transact = async <Result>(
  pool: Pool,
  { slots, key, timeoutMs }: Turns,
  work: Work<Result>,
): Promise<Result> => {
  if (slots.waiting >= MAX_WAITING) throw unavailable('too many operations wait for it');
  const late = Promise.withResolvers<never>();
  const waiting = new AbortController();
  const state: State = { client: null, isLate: false, attempts: 0, isCut: false, problem: null };
  const timer = setTimeout(() => {
    state.isLate = true;
    // The connection is in the middle of something: it cannot be used again.
    if (state.client !== null) cutConnection(state.client);
    const problem = state.problem ?? unavailable(`it did not answer within ${timeoutMs} ms`);
    waiting.abort(problem);
    late.reject(problem);
  }, timeoutMs);
  /** A connection that is late is not in use any more. */
  const inTurn = (attempt: () => Promise<Result>): Promise<Result> =>
    slots.run(() => Promise.race([attempt(), late.promise]), waiting.signal, key);
  try {
    return await Promise.race([
      attempts(() => inTurn(() => attemptOnce(pool, work, state)), state),
      late.promise,
    ]);
  } finally {
    clearTimeout(timer);
  }
};

const attempts = async <Result>(attemptInTurn: () => Promise<Result>, state: State): Promise<Result> => {
  for (;;) {
    state.attempts += 1;
    try {
      return await attemptInTurn();
    } catch (error) {
      state.problem = fromPostgresError(error instanceof Interrupted ? error.cause : error);
      const isAgain = error instanceof Interrupted && (!error.isConflict || state.attempts < MAX_ATTEMPTS);
      state.isCut ||= isBroken(error instanceof Interrupted ? error.cause : error);
      if (!isAgain || state.isLate) throw state.problem;
      await sleep(Math.min(FIRST_PAUSE_MS * 2 ** state.attempts, MAX_PAUSE_MS));
    }
  }
};

/** The work may be done again: it has had no effect, or finds what it wrote. */
class Interrupted extends Error {
  readonly isConflict: boolean;

  constructor(cause: unknown) {
    super('interrupted', { cause });
    this.isConflict = isConflict(cause);
  }
}

const interruptible = async <Result>(doing: Promise<Result>): Promise<Result> => {
  try {
    return await doing;
  } catch (error) {
    throw isConflict(error) || isBroken(error) ? new Interrupted(error) : error;
  }
};

const attemptOnce = async <Result>(pool: Pool, work: Work<Result>, state: State): Promise<Result> => {
  const client = await interruptible(pool.connect());
  if (state.isLate) {
    client.release();
    throw unavailable('no one waits for it any more');
  }
  state.client = client;
  let isUsable = false;
  try {
    const connection = {
      db: kyselyOf(client),
      send: (statements: readonly CompiledQuery[]) => sendTogether(client, statements),
      isFirstAttempt: state.attempts === 1,
      mayHaveWritten: state.isCut,
    };
    const result = await (work.kind === 'write'
      ? inTransaction(client, () => work.run(connection))
      : interruptible(work.run(connection)));
    isUsable = true;
    return result;
  } catch (error) {
    // Outside of a transaction it does nothing.
    isUsable = await client.query('rollback').then(isTrue, isFalse);
    throw error;
  } finally {
    state.client = null;
    giveBack(client, state, isUsable);
  }
};

const isTrue = (): boolean => true;
const isFalse = (): boolean => false;

const giveBack = (client: PoolClient, { isLate }: State, isUsable: boolean): void => {
  // A connection in use was given back when it was late.
  if (!isLate) client.release(!isUsable);
};

const inTransaction = async <Result>(client: PoolClient, run: () => Promise<Result>): Promise<Result> => {
  // The first statement is sent without waiting for it.
  const begun = client.query('begin');
  begun.catch(() => undefined);
  const result = await interruptible(run());
  await interruptible(begun);
  try {
    await client.query('commit');
  } catch (error) {
    // If the connection broke meanwhile, no one knows whether the transaction ended.
    throw isConflict(error) || isUnsent(error) ? new Interrupted(error) : error;
  }
  return result;
};
