import type { Migration } from './migrations/migration.ts';
import type { OperationsOf } from './operation.ts';
import type { Sweep } from './queries/sweep.ts';
import type { Store } from './store.ts';

/** What a feature keeps in the database. The SQLite thread loads it, so it imports nothing of HTTP. */
export interface StorePart<Methods = unknown> {
  /** Its operations are called `name.method`. */
  readonly name: string;
  readonly operations: OperationsOf<Methods>;
  /** By the version of the schema that each makes. */
  readonly migrations: Readonly<Record<number, Migration>>;
  /** What its tables and their columns hold, for docs/store-schema.md. */
  readonly tables: TableNotes;
  /** Deletes expired rows; absent: they do not expire. */
  readonly sweep?: Sweep;
}

export type TableNotes<Tables = Readonly<Record<string, object>>> = {
  readonly [Table in keyof Tables]: {
    readonly about: string;
    readonly columns: { readonly [Name in keyof Tables[Table]]: string };
    /** The table before it on the page; absent: the last one. */
    readonly after?: string;
  };
};

/** The part of a feature in a store that was opened with it. */
export const partOf = <Methods>(store: Store, { name }: StorePart<Methods>): Methods =>
  (store as unknown as Readonly<Record<string, Methods>>)[name] as Methods;
