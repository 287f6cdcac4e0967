export type DatabaseKind = 'sqlite' | 'postgres';

/** A change of the schema, as SQL. One that was released is never edited: the next change is a new one. */
export type Migration = (words: SchemaWords) => readonly string[];

/** Where the two databases differ. */
export interface SchemaWords {
  readonly kind: DatabaseKind;
  /** Texts are compared by their bytes, whatever the locale of a PostgreSQL is. */
  readonly text: string;
  /** Small rows that are found by their whole key: in SQLite they need no tree besides that of the key. */
  readonly byKeyAlone: string;
}

export const SCHEMA_WORDS: Readonly<Record<DatabaseKind, SchemaWords>> = {
  sqlite: { kind: 'sqlite', text: 'text', byKeyAlone: 'without rowid' },
  postgres: { kind: 'postgres', text: 'text collate "C"', byKeyAlone: '' },
};
