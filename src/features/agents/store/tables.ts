import type { Query } from '../../../store/operation.ts';
import type { TableNotes } from '../../../store/part.ts';
import type { Sealed } from '../../../store/tables.ts';
import type { SessionPhase } from './port.ts';

export interface AgentTables {
  agents: SavedAgentTable;
  agent_sessions: AgentSessionTable;
  agent_session_metadata: AgentMetadataTable;
  agent_turns: AgentTurnTable;
  agent_items: AgentItemTable;
  agent_events: AgentEventTable;
  agent_input_keys: AgentInputKeyTable;
  agent_places: AgentPlaceTable;
  agent_approvals: AgentApprovalTable;
}

export type AgentQuery = Query<AgentTables>;

interface SavedAgentTable {
  id: string;
  owner: string;
  created_at: number;
  expires_at: number;
  body: Sealed;
}

export interface AgentSessionTable {
  id: string;
  owner: string;
  agent_id: string;
  /** Empty: it has none. */
  workspace: string;
  phase: SessionPhase;
  rev: number;
  next_event: number;
  next_item: number;
  /** Null: it does not wait for a place. */
  queued_at: number | null;
  /** Null: it does not wait for its client. */
  deadline_at: number | null;
  /** Null: no instance runs it. */
  lease_by: string | null;
  lease_beat: number | null;
  created_at: number;
  last_active_at: number;
  expires_at: number;
  metadata: Sealed;
  settings: Sealed;
  state: Sealed;
}

interface AgentMetadataTable {
  owner: string;
  /** A digest of the key and the value. */
  pair: string;
  session_id: string;
}

interface AgentTurnTable {
  session_id: string;
  pos: number;
  id: string;
  owner: string;
  body: Sealed;
}

interface AgentItemTable {
  session_id: string;
  pos: number;
  id: string;
  turn_id: string;
  owner: string;
  chars: number;
  /** 0 or 1. */
  is_shown: number;
  body: Sealed | null;
  raw: Sealed | null;
}

interface AgentEventTable {
  session_id: string;
  first: number;
  last: number;
  owner: string;
  chars: number;
  expires_at: number;
  body: Sealed;
}

interface AgentInputKeyTable {
  session_id: string;
  /** A digest. */
  key: string;
  expires_at: number;
  /** A digest. */
  body: string;
}

interface AgentPlaceTable {
  workspace: string;
  changes: number;
}

interface AgentApprovalTable {
  owner: string;
  id: string;
  expires_at: number;
}

/** For docs/store-schema.md. */
export const AGENT_NOTES: TableNotes<AgentTables> = {
  agents: {
    sealed: 'body',
    isSwept: true,
    about: 'A saved agent.',
    columns: {
      id: '',
      owner: '',
      created_at: '',
      expires_at: 'later with each use',
      body: 'sealed; the agent',
    },
  },
  agent_sessions: {
    sealed: 'state',
    isSwept: true,
    about: 'A session of an agent.',
    columns: {
      id: '',
      owner: '',
      agent_id: '',
      workspace: 'empty: it has none',
      phase:
        '`idle`, `queued`, `ready` (its turn goes on when there is a place), `running`, `waiting` (for its client), `failed`',
      rev: 'raised by each change',
      next_event: 'the number of the next event',
      next_item: 'the place of the next item',
      queued_at: 'since when it waits for a place; null: it does not',
      deadline_at: 'until when it waits for its client; null: it does not',
      lease_by: 'the instance that runs its turn; null: none does',
      lease_beat: 'raised by that instance for as long as it lives',
      created_at: '',
      last_active_at: '',
      expires_at: '',
      metadata: 'sealed',
      settings: 'sealed; its agent and its environment',
      state: 'sealed; its turn, as far as that has come',
    },
  },
  agent_session_metadata: {
    about: 'One row for each pair of metadata of a session.',
    columns: {
      owner: '',
      pair: 'a digest of key and value, with the current key if there is one',
      session_id: '',
    },
  },
  agent_turns: {
    sealed: 'body',
    about: 'A turn of a session.',
    columns: { session_id: '', pos: 'from 1', id: '', owner: '', body: 'sealed; the turn' },
  },
  agent_items: {
    about: 'An item of a session.',
    columns: {
      session_id: '',
      pos: 'in the order in which the items began',
      id: '',
      turn_id: '',
      owner: '',
      chars: 'the characters of what the model gets of it',
      is_shown: '0 or 1: whether clients see it',
      body: 'sealed; the item as clients see it; null: they do not',
      raw: 'sealed; what the model gets of it; null: nothing',
    },
  },
  agent_events: {
    sealed: 'body',
    isSwept: true,
    about: 'Some consecutive events of a session.',
    columns: {
      session_id: '',
      first: 'the number of the first event',
      last: 'the number of the last event',
      owner: '',
      chars: 'the characters of the body',
      expires_at: 'ten minutes after the end of the turn',
      body: 'sealed; the events',
    },
  },
  agent_input_keys: {
    isSwept: true,
    about: 'The idempotency keys of input for sessions.',
    columns: {
      session_id: '',
      key: 'a digest',
      expires_at: 'a day after its use',
      body: 'a digest of the request',
    },
  },
  agent_places: {
    about: 'A row for each workspace: who changes it decides which turn runs next.',
    columns: { workspace: '', changes: 'raised by each change' },
  },
  agent_approvals: {
    isSwept: true,
    about: 'Approvals of calls that were used.',
    columns: { owner: '', id: '', expires_at: '' },
  },
};
