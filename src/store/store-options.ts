import type { Clock } from '../kit/ambient.ts';
import type { StoreSchema } from './operations.ts';

/** Which database, and how it is read. */
export interface DatabaseOptions {
  /** A PostgreSQL database; null: SQLite in `file`. */
  readonly databaseUrl: string | null;
  /** The SQLite file. It is made, for its owner alone, if it does not exist; its folder must exist. */
  readonly file: string;
  /** Keys of 32 bytes, as hexadecimal digits or base64. The first one encrypts, all decrypt; none: plain text. */
  readonly keys: readonly string[];
  readonly clock: Clock;
  readonly schema: StoreSchema;
}

/** Whether a write to the SQLite file waits until the disk has it (`full`), or a power failure may undo it. */
export type StoreSync = 'full' | 'normal';

/** What is reported while a store is open. */
export interface StoreHooks {
  /** Called for every operation that has ended: `null` if it succeeded. For metrics and logs. */
  readonly onOperation?: (name: string, milliseconds: number, error: unknown) => void;
  /** Called when the database is lost and when it is back. */
  readonly onChange?: (change: StoreChange) => void;
}

export interface StoreOptions extends DatabaseOptions, StoreHooks {
  /** For each operation, including its wait for earlier ones. */
  readonly timeoutMs: number;
  /** `full` by default. */
  readonly sync?: StoreSync;
  /** The module of the thread that has the SQLite file open. It calls `serveFile` with the same schema. */
  readonly thread: URL;
}

export type StoreChange = { readonly kind: 'lost'; readonly reason: string } | { readonly kind: 'back' };
