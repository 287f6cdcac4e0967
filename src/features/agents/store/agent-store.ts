import type { OperationsOf } from '../../../store/operation.ts';
import type { StorePart, Sweep } from '../../../store/part.ts';
import { deleteExpired } from '../../../store/queries/expressions.ts';
import type { Store } from '../../../store/store.ts';
import { agentSessionOperations } from './agent-sessions.ts';
import { AGENT_MIGRATIONS } from './migrations.ts';
import type { AgentStore } from './port.ts';
import { agentApprovalOperations, savedAgentOperations } from './saved-agents.ts';
import { agentEventOperations } from './session-lists.ts';
import { AGENT_NOTES, type AgentQuery } from './tables.ts';

const OPERATIONS: {
  readonly [Part in Exclude<keyof AgentStore, keyof Store>]: OperationsOf<AgentStore[Part]>;
} = {
  savedAgents: savedAgentOperations,
  agentSessions: agentSessionOperations,
  agentEvents: agentEventOperations,
  agentApprovals: agentApprovalOperations,
};

const deleteEvents = async ({ db, now }: AgentQuery, limit: number): Promise<number> => {
  const rows = await db
    .selectFrom('agent_events')
    .select(['session_id', 'first'])
    .where('expires_at', '<=', now)
    .orderBy('expires_at')
    .limit(limit)
    .execute();
  for (const { session_id, first } of rows) {
    await db
      .deleteFrom('agent_events')
      .where('session_id', '=', session_id)
      .where('first', '=', first)
      .execute();
  }
  return rows.length;
};

const deleteKeys = async ({ db, now }: AgentQuery, limit: number): Promise<number> => {
  const rows = await db
    .selectFrom('agent_input_keys')
    .select(['session_id', 'key'])
    .where('expires_at', '<=', now)
    .orderBy('expires_at')
    .limit(limit)
    .execute();
  for (const { session_id, key } of rows) {
    await db
      .deleteFrom('agent_input_keys')
      .where('session_id', '=', session_id)
      .where('key', '=', key)
      .execute();
  }
  return rows.length;
};

const deleteApprovals = async ({ db, now }: AgentQuery, limit: number): Promise<number> => {
  const rows = await db
    .selectFrom('agent_approvals')
    .select(['owner', 'id'])
    .where('expires_at', '<=', now)
    .orderBy('expires_at')
    .limit(limit)
    .execute();
  for (const { owner, id } of rows) {
    await db.deleteFrom('agent_approvals').where('owner', '=', owner).where('id', '=', id).execute();
  }
  return rows.length;
};

const sweep: Sweep<AgentQuery> = async (query, limit) => {
  const counts = [
    await deleteEvents(query, limit),
    await deleteKeys(query, limit),
    await deleteApprovals(query, limit),
    await deleteExpired(query, 'agent_sessions', limit),
    await deleteExpired(query, 'agents', limit),
  ];
  return counts.reduce((sum, count) => sum + count, 0);
};

/** The parts share their tables. */
export const AGENT_STORE: readonly StorePart[] = [
  {
    name: 'agentSessions',
    operations: OPERATIONS.agentSessions,
    migrations: AGENT_MIGRATIONS,
    tables: AGENT_NOTES,
    status: {
      agents: {
        text: (rows) =>
          `${rows['agents']} saved, ${rows['agent_sessions']} sessions with ${rows['agent_items']} items`,
      },
    },
    sweep,
  },
  ...Object.entries(OPERATIONS)
    .filter(([name]) => name !== 'agentSessions')
    .map(([name, operations]): StorePart => ({ name, operations, migrations: {}, tables: {} })),
];

/** A store with the parts of this feature: those of every server have them. */
export const agentStoreOf = (store: Store): AgentStore => store as AgentStore;
