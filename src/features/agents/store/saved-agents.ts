import { read, write, type OperationsOf } from '../../../store/operation.ts';
import { atLeast } from '../../../store/queries/expressions.ts';
import type { Place } from '../../../store/seal.ts';
import type { AgentApprovalStore, SavedAgentRow, SavedAgentStore } from './port.ts';
import type { AgentQuery } from './tables.ts';

const placeOf = (owner: string, id: string): Place => ({ column: 'agents.body', row: id, owner });

interface StoredAgent {
  readonly id: string;
  readonly owner: string;
  readonly created_at: number;
  readonly body: string;
}

const toAgent = ({ seal }: AgentQuery, row: StoredAgent): SavedAgentRow => ({
  id: row.id,
  createdAt: row.created_at,
  body: seal.open(placeOf(row.owner, row.id), row.body),
});

const add = async (query: AgentQuery, row: Parameters<SavedAgentStore['add']>[0]): Promise<void> => {
  const { id, owner, createdAt, expiresAt, body } = row;
  const sealed = query.seal.close(placeOf(owner, id), body);
  await query.db
    .insertInto('agents')
    .values({ id, owner, created_at: createdAt, expires_at: expiresAt, body: sealed })
    .execute();
};

const find = async (
  query: AgentQuery,
  owner: string,
  id: string,
  expiresAt: number,
): Promise<SavedAgentRow | null> => {
  const row = await query.db
    .updateTable('agents')
    .set({ expires_at: atLeast('expires_at', expiresAt) })
    .where('id', '=', id)
    .where('owner', '=', owner)
    .where('expires_at', '>', query.now)
    .returning(['id', 'owner', 'created_at', 'body'])
    .executeTakeFirst();
  return row === undefined ? null : toAgent(query, row);
};

const list = async (
  query: AgentQuery,
  owner: string,
  { after, order, limit }: Parameters<SavedAgentStore['list']>[1],
): Promise<readonly SavedAgentRow[] | null> => {
  const known = query.db.selectFrom('agents').where('owner', '=', owner).where('expires_at', '>', query.now);
  let page = known.select(['id', 'owner', 'created_at', 'body']);
  if (after !== null) {
    const last = await known.select('created_at').where('id', '=', after).executeTakeFirst();
    if (last === undefined) return null;
    const sign = order === 'asc' ? '>' : '<';
    page = page.where((of) =>
      of.or([
        of('created_at', sign, last.created_at),
        of.and([of('created_at', '=', last.created_at), of('id', sign, after)]),
      ]),
    );
  }
  const rows = await page.orderBy('created_at', order).orderBy('id', order).limit(limit).execute();
  return rows.map((row) => toAgent(query, row));
};

const update = async (
  query: AgentQuery,
  owner: string,
  id: string,
  { from, body, expiresAt }: Parameters<SavedAgentStore['update']>[2],
): Promise<boolean> => {
  const row = await query.db
    .selectFrom('agents')
    .select('body')
    .where('id', '=', id)
    .where('owner', '=', owner)
    .where('expires_at', '>', query.now)
    .forUpdate()
    .executeTakeFirst();
  if (row === undefined || query.seal.open(placeOf(owner, id), row.body) !== from) return false;
  await query.db
    .updateTable('agents')
    .set({
      body: query.seal.close(placeOf(owner, id), body),
      expires_at: atLeast('expires_at', expiresAt),
    })
    .where('id', '=', id)
    .execute();
  return true;
};

const remove = async ({ db, now }: AgentQuery, owner: string, id: string): Promise<boolean> => {
  const { numDeletedRows } = await db
    .deleteFrom('agents')
    .where('id', '=', id)
    .where('owner', '=', owner)
    .where('expires_at', '>', now)
    .executeTakeFirst();
  return numDeletedRows > 0n;
};

export const savedAgentOperations: OperationsOf<SavedAgentStore> = {
  add: write(add),
  find: write(find),
  list: read(list),
  update: write(update),
  delete: write(remove),
};

const useApproval = async (
  { db }: AgentQuery,
  owner: string,
  id: string,
  expiresAt: number,
): Promise<boolean> => {
  const used = await db
    .insertInto('agent_approvals')
    .values({ owner, id, expires_at: expiresAt })
    .onConflict((conflict) => conflict.columns(['owner', 'id']).doNothing())
    .returning('id')
    .executeTakeFirst();
  return used !== undefined;
};

const giveBackApproval = async ({ db }: AgentQuery, owner: string, id: string): Promise<void> => {
  await db.deleteFrom('agent_approvals').where('owner', '=', owner).where('id', '=', id).execute();
};

export const agentApprovalOperations: OperationsOf<AgentApprovalStore> = {
  useApproval: write(useApproval),
  giveBackApproval: write(giveBackApproval),
};
