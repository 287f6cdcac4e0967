import type { CompiledQuery, Kysely } from 'kysely';

import type { ExecutionResult } from './connection-dialect.ts';
import type { Seal } from './seal.ts';
import type { ResponseChange } from './store.ts';
import type { Tables } from './tables.ts';

/** What every query gets. `Own`: the tables of the feature that it belongs to. */
export interface Query<Own = unknown> {
  /** A connection. For a write it is in a transaction. */
  readonly db: Kysely<Tables & Own>;
  readonly seal: Seal;
  /** Rows that expire at this time or before are unknown. */
  readonly now: number;
  /** Only of a batched operation, in a database to which a round trip costs something. */
  readonly remote?: RemoteDatabase;
}

export interface RemoteDatabase {
  /** Sends statements in one message, as a transaction of their own. */
  readonly send: (statements: readonly CompiledQuery[]) => Promise<readonly ExecutionResult[]>;
  /** False: an attempt before this one conflicted or lost its connection. */
  readonly isFirstAttempt: boolean;
  /** It lost its connection: it may have written. */
  readonly mayHaveWritten: boolean;
}

/** A method of the store as a value, so that it can run in another thread and again after a conflict. */
export interface Operation<Args extends readonly unknown[], Result> {
  readonly isWrite: boolean;
  /** Whether a power cut may undo the write. The end of the process does not. Absent: it may not. */
  isRelaxed?(...args: Args): boolean;
  /** Whether it writes by `together` only. */
  readonly isBatched?: true;
  run(query: Query, ...args: Args): Promise<Result>;
  /** The ids of the responses whose readers are to be woken; `*`: those of any. */
  changed(result: Result, ...args: Args): readonly string[];
  /** What it changes of these responses. */
  readonly change: ResponseChange;
}

/** An operation for each method of a part of the store. */
export type OperationsOf<Part> = {
  readonly [Name in keyof Part]: Part[Name] extends (...args: infer Args) => Promise<infer Result>
    ? Operation<Args, Result>
    : never;
};

type Run<Args extends readonly unknown[], Result, Own> = (
  query: Query<Own>,
  ...args: Args
) => Promise<Result>;

/** A connection has the tables of every feature; only their queries know their types. */
const anyQuery = <Args extends readonly unknown[], Result, Own>(
  run: Run<Args, Result, Own>,
): Operation<Args, Result>['run'] => run as unknown as Operation<Args, Result>['run'];

/** The id of the response that changed, or those of several; null: none. */
type Changed = string | readonly string[] | null;

const listed = (changed: Changed): readonly string[] => {
  if (changed === null) return [];
  return typeof changed === 'string' ? [changed] : changed;
};

const UNCHANGED = { changed: () => [], change: 'status' } as const;

export const read = <Args extends readonly unknown[], Result, Own>(
  run: Run<Args, Result, Own>,
): Operation<Args, Result> => ({ isWrite: false, run: anyQuery(run), ...UNCHANGED });

/** `changed` of a batched operation knows its arguments only. */
export interface BatchedOptions<Args extends readonly unknown[]> {
  readonly changed?: (...args: Args) => Changed;
  readonly change?: ResponseChange;
  /** Whether it does not wait for the disk, if the database can do that. */
  readonly isRelaxed?: (...args: Args) => boolean;
}

/**
 * A write in one round trip: it writes by `together` only, whose statements are known before the first of them runs. After a
 * conflict or a broken connection it runs again, and has to find what the attempt before wrote.
 */
export const batched = <Args extends readonly unknown[], Result, Own>(
  run: Run<Args, Result, Own>,
  { changed = () => null, change = 'status', ...options }: BatchedOptions<Args> = {},
): Operation<Args, Result> => ({
  isWrite: true,
  isBatched: true,
  run: anyQuery(run),
  changed: (_, ...args) => listed(changed(...args)),
  change,
  ...options,
});

/** Runs statements one after the other, all of them or none. The transaction ends with them, if it is not one with others. */
export const together = async (
  { db, remote }: Pick<Query, 'db' | 'remote'>,
  statements: readonly CompiledQuery[],
): Promise<readonly ExecutionResult[]> => {
  if (remote !== undefined) return remote.send(statements);
  const results: ExecutionResult[] = [];
  for (const statement of statements) {
    const { rows, numAffectedRows = 0n } = await db.executeQuery(statement);
    results.push({ rows, changes: Number(numAffectedRows) });
  }
  return results;
};

/** Runs in a transaction of its own, or in a savepoint of one: what it throws undoes all that it did. */
export const write = <Args extends readonly unknown[], Result, Own>(
  run: Run<Args, Result, Own>,
  changed: (result: Result, ...args: Args) => Changed = () => null,
  change: ResponseChange = 'status',
): Operation<Args, Result> => ({
  isWrite: true,
  run: anyQuery(run),
  changed: (...given) => listed(changed(...given)),
  change,
});

/** Whose operation it is, for fairness. Most begin with an owner or a row that has one. Others take turns by what they begin with. */
export const keyOf = ([first]: readonly unknown[]): string => {
  const { owner } = Object(first) as { readonly owner?: unknown };
  if (typeof owner === 'string') return owner;
  return typeof first === 'string' ? first : '';
};
