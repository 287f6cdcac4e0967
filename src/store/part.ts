import type { Migration } from './migrations/migration.ts';
import type { PlacedRow } from '../kit/collections/merge-rows.ts';
import type { OperationsOf, Query } from './operation.ts';
import type { Store } from './store.ts';

/** What a feature keeps in the database. The SQLite thread loads it, so it imports nothing of HTTP. */
export interface StorePart<Methods = unknown> {
  /** Its operations are called `name.method`. */
  readonly name: string;
  readonly operations: OperationsOf<Methods>;
  /** By the version of the schema that each makes. Parts of the same version run in the order of the parts. */
  readonly migrations: Readonly<Record<number, Migration>>;
  /** What its tables and their columns hold, for docs/store-schema.md. */
  readonly tables: TableNotes;
  /** Its lines of `db status`, by their names. */
  readonly status?: Readonly<Record<string, StatusLine>>;
  /** Deletes expired rows; absent: they do not expire. */
  readonly sweep?: Sweep;
}

/** Deletes some expired rows, at most `limit` of each kind. Returns how many it looked at. */
export type Sweep<Asked extends Query = Query> = (query: Asked, limit: number) => Promise<number>;

/** A line of `db status`. */
export interface StatusLine extends PlacedRow {
  /** `rows`: the number of rows in each table. */
  readonly text: (rows: Readonly<Record<string, number>>) => string;
}

export type TableNotes<Tables = Readonly<Record<string, object>>> = {
  readonly [Table in keyof Tables]: {
    readonly about: string;
    readonly columns: { readonly [Name in keyof Tables[Table]]: string };
    /** The table before it on the page; absent: the last one. */
    readonly after?: string;
    /** A sealed column that is never null: it shows with which key a row was sealed. */
    readonly sealed?: string;
    /** Rows whose `expires_at` has passed wait for the sweep. */
    readonly isSwept?: true;
  };
};

/** The part of a feature in a store that was opened with it. */
export const partOf = <Methods>(store: Store, { name }: StorePart<Methods>): Methods =>
  (store as unknown as Readonly<Record<string, Methods>>)[name] as Methods;
