import { read, type OperationsOf, type Query } from '../operation.ts';
import type { KeptStore } from '../ports/kept.ts';

const bytes = async ({ db }: Query, owner: string): Promise<number> => {
  const rows = await db.selectFrom('kept_bytes').select('bytes').where('owner', '=', owner).execute();
  return rows.reduce((sum, row) => sum + row.bytes, 0);
};

export const keptOperations: OperationsOf<KeptStore> = { bytes: read(bytes) };
