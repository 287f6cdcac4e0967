import type { CompiledQuery, Selectable } from 'kysely';

import { batched, read, together, write, type OperationsOf } from '../../../store/operation.ts';
import type { Place } from '../../../store/seal.ts';
import type { ChatRow, ChatStore } from './port.ts';
import type { ChatTable, StateQuery } from './tables.ts';

const placeOf = (
  column: 'body' | 'messages' | 'metadata',
  { owner, id }: { readonly owner: string; readonly id: string },
): Place => ({ column: `chat_completions.${column}`, row: id, owner });

const pairText = (key: string, value: string): string => JSON.stringify([key, value]);

type WithoutMessages = Omit<Selectable<ChatTable>, 'messages'>;

const toListed = ({ seal }: StateQuery, row: WithoutMessages): Omit<ChatRow, 'messages'> => ({
  id: row.id,
  model: row.model,
  createdAt: row.created_at,
  metadata: JSON.parse(seal.open(placeOf('metadata', row), row.metadata)) as Record<string, string>,
  body: seal.open(placeOf('body', row), row.body),
});

const toChat = (query: StateQuery, row: Selectable<ChatTable>): ChatRow => ({
  ...toListed(query, row),
  messages: query.seal.open(placeOf('messages', row), row.messages),
});

const metadataStatements = (
  { db, seal }: StateQuery,
  row: { readonly owner: string; readonly id: string; readonly metadata: ChatRow['metadata'] },
): readonly CompiledQuery[] => {
  const pairs = Object.entries(row.metadata).map(([key, value]) => ({
    owner: row.owner,
    pair: seal.digest(pairText(key, value)),
    chat_id: row.id,
  }));
  return pairs.length === 0 ? [] : [db.insertInto('chat_metadata').values(pairs).compile()];
};

const add = async (query: StateQuery, row: Parameters<ChatStore['add']>[0]): Promise<void> => {
  const { db, seal, remote } = query;
  if (remote?.mayHaveWritten === true && (await find(query, row.owner, row.id)) !== null) return;
  await together(query, [
    db
      .insertInto('chat_completions')
      .values({
        id: row.id,
        owner: row.owner,
        model: row.model,
        created_at: row.createdAt,
        expires_at: row.expiresAt,
        metadata: seal.close(placeOf('metadata', row), JSON.stringify(row.metadata)),
        body: seal.close(placeOf('body', row), row.body),
        messages: seal.close(placeOf('messages', row), row.messages),
      })
      .compile(),
    ...metadataStatements(query, row),
  ]);
};

const find = async (query: StateQuery, owner: string, id: string): Promise<ChatRow | null> => {
  const row = await query.db
    .selectFrom('chat_completions')
    .selectAll()
    .where('id', '=', id)
    .where('owner', '=', owner)
    .where('expires_at', '>', query.now)
    .executeTakeFirst();
  return row === undefined ? null : toChat(query, row);
};

const list = async (
  query: StateQuery,
  owner: string,
  { model, metadata, after, order, limit }: Parameters<ChatStore['list']>[1],
): Promise<readonly Omit<ChatRow, 'messages'>[]> => {
  const { db, seal, now } = query;
  let chats = db
    .selectFrom('chat_completions')
    .select(['id', 'owner', 'model', 'created_at', 'expires_at', 'metadata', 'body'])
    .where('owner', '=', owner)
    .where('expires_at', '>', now);
  if (model !== null) chats = chats.where('model', '=', model);
  for (const [key, value] of Object.entries(metadata)) {
    chats = chats.where('id', 'in', (of) =>
      of
        .selectFrom('chat_metadata')
        .select('chat_id')
        .where('chat_metadata.owner', '=', owner)
        .where('pair', 'in', seal.digests(pairText(key, value))),
    );
  }
  if (after !== null) {
    const last = await find(query, owner, after);
    if (last === null) return [];
    const sign = order === 'asc' ? '>' : '<';
    chats = chats.where((of) =>
      of.or([
        of('created_at', sign, last.createdAt),
        of.and([of('created_at', '=', last.createdAt), of('id', sign, last.id)]),
      ]),
    );
  }
  const rows = await chats.orderBy('created_at', order).orderBy('id', order).limit(limit).execute();
  return rows.map((row) => toListed(query, row));
};

const update = async (
  query: StateQuery,
  owner: string,
  id: string,
  { metadata, body }: Parameters<ChatStore['update']>[2],
): Promise<ChatRow | null> => {
  const { db, seal, now } = query;
  const row = await db
    .updateTable('chat_completions')
    .set({
      metadata: seal.close(placeOf('metadata', { owner, id }), JSON.stringify(metadata)),
      body: seal.close(placeOf('body', { owner, id }), body),
    })
    .where('id', '=', id)
    .where('owner', '=', owner)
    .where('expires_at', '>', now)
    .returningAll()
    .executeTakeFirst();
  if (row === undefined) return null;
  await db.deleteFrom('chat_metadata').where('chat_id', '=', id).execute();
  for (const statement of metadataStatements(query, { owner, id, metadata }))
    await db.executeQuery(statement);
  return toChat(query, row);
};

const remove = async ({ db, now }: StateQuery, owner: string, id: string): Promise<boolean> => {
  const { numDeletedRows } = await db
    .deleteFrom('chat_completions')
    .where('id', '=', id)
    .where('owner', '=', owner)
    .where('expires_at', '>', now)
    .executeTakeFirst();
  return numDeletedRows > 0n;
};

export const chatOperations: OperationsOf<ChatStore> = {
  add: batched(add),
  find: read(find),
  list: read(list),
  update: write(update),
  delete: write(remove),
};
