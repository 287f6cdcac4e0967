import { workerData } from 'node:worker_threads';

import { openSqliteFile } from '../sqlite/sqlite-file.ts';

/** Copies or compacts a SQLite file: statements of minutes, during which the command shows its progress. */

export interface AdminWork {
  readonly file: string;
  readonly busyMs: number;
  readonly statements: readonly string[];
}

const { file, busyMs, statements } = workerData as AdminWork;
const database = openSqliteFile(file, { busyMs, isExisting: true });
try {
  for (const statement of statements) database.exec(statement);
} finally {
  database.close();
}
