import { DatabaseSync, type SQLInputValue } from 'node:sqlite';

import { STORE_SCHEMA } from '../../src/compose/open-store.ts';
import type { Clock } from '../../src/kit/ambient.ts';
import { kyselyOn } from '../../src/store/connection-dialect.ts';
import { migrate } from '../../src/store/migrations/migrate.ts';
import { methodsOf } from '../../src/store/operations.ts';
import { limitStore, type LimitStore } from '../../src/features/keys/limit-store.ts';
import { createSeal } from '../../src/store/seal.ts';
import { partOf } from '../../src/store/part.ts';
import type { Store } from '../../src/store/store.ts';

/** The limits of a store in memory, with the real queries, one operation after the other. */
export const memoryLimits = async (clock: Clock): Promise<LimitStore> => {
  const database = new DatabaseSync(':memory:');
  const db = kyselyOn('sqlite', (sql, parameters) => {
    const statement = database.prepare(sql);
    const rows = statement.all(...(parameters as SQLInputValue[]));
    return { rows, changes: rows.length };
  });
  await migrate(db, 'sqlite', 0, STORE_SCHEMA.migrations);
  const seal = createSeal([]);
  let last: Promise<unknown> = Promise.resolve();
  const store = methodsOf(STORE_SCHEMA, (name, args) => {
    const doing = last.then(() =>
      STORE_SCHEMA.operations.get(name)!.run({ db, seal, now: clock.now() }, ...args),
    );
    last = doing.catch(() => undefined);
    return doing;
  });
  return partOf(store as Store, limitStore);
};
