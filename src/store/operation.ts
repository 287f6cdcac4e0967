import type { Kysely } from 'kysely';

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
}

/** A method of the store as a value, so that it can run in another thread and again after a conflict. */
export interface Operation<Args extends readonly unknown[], Result> {
  readonly isWrite: boolean;
  /** Whether a power cut may undo the write. The end of the process does not. */
  readonly isRelaxed?: true;
  run(query: Query, ...args: Args): Promise<Result>;
  /** The id of the response whose readers are to be woken; null: of none. */
  changed(result: Result, ...args: Args): string | null;
  /** What it changes of that response. */
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

/** No response. */
const UNCHANGED = { changed: () => null, change: 'status' } as const;

export const read = <Args extends readonly unknown[], Result, Own>(
  run: Run<Args, Result, Own>,
): Operation<Args, Result> => ({ isWrite: false, run: anyQuery(run), ...UNCHANGED });

/** A write that does not wait for the disk, if the database can do that. */
export const relaxed = <Args extends readonly unknown[], Result, Own>(
  run: Run<Args, Result, Own>,
): Operation<Args, Result> => ({ isWrite: true, isRelaxed: true, run: anyQuery(run), ...UNCHANGED });

/** Runs in a transaction of its own, or in a savepoint of one: what it throws undoes all that it did. */
export const write = <Args extends readonly unknown[], Result, Own>(
  run: Run<Args, Result, Own>,
  changed: (result: Result, ...args: Args) => string | null = () => null,
  change: ResponseChange = 'status',
): Operation<Args, Result> => ({ isWrite: true, run: anyQuery(run), changed, change });

/** Whose operation it is, for fairness. Most begin with an owner or a row that has one. Others take turns by what they begin with. */
export const keyOf = ([first]: readonly unknown[]): string => {
  const { owner } = Object(first) as { readonly owner?: unknown };
  if (typeof owner === 'string') return owner;
  return typeof first === 'string' ? first : '';
};
