import type { Query } from '../../../store/operation.ts';
import type { TableNotes } from '../../../store/part.ts';
import type { Sealed } from '../../../store/tables.ts';
import type { ResponseStatus } from './port.ts';

export interface StateTables {
  segments: SegmentTable;
  turns: TurnTable;
  item_index: ItemIndexTable;
  responses: ResponseTable;
  run_events: EventTable;
  chat_completions: ChatTable;
  chat_metadata: ChatMetadataTable;
}

export type StateQuery = Query<StateTables>;

/** An append-only list of turns: a conversation with a name, or a chain of responses. */
export interface SegmentTable {
  id: string;
  owner: string;
  kind: 'chain' | 'conversation';
  from_segment: string | null;
  from_pos: number | null;
  /** The position of its last turn; -1: it has none. */
  tip: number;
  locked_until: number | null;
  locked_by: string | null;
  cache_key: Sealed;
  created_at: number;
  expires_at: number;
  /** When the sweep looks at it: at `expires_at`, or later if segments were forked from it. */
  sweep_at: number;
  /** Null: not a conversation. */
  body: Sealed | null;
  /** When something was written to it; null: not since version 4 of the schema. */
  updated_at: number | null;
}

export interface TurnTable {
  segment_id: string;
  pos: number;
  key: string;
  owner: string;
  response_id: string | null;
  /** The characters of all bodies up to this one, also of the segments before. */
  total_chars: number;
  body: Sealed;
}

/** Where the output item with this id is. */
export interface ItemIndexTable {
  owner: string;
  id: string;
  segment_id: string;
  pos: number;
}

export interface ResponseTable {
  id: string;
  owner: string;
  /** Null until it has ended. */
  segment_id: string | null;
  pos: number | null;
  status: ResponseStatus;
  /** 0 or 1. */
  is_background: number;
  /** Null: it does not run. */
  lease_by: string | null;
  lease_beat: number | null;
  created_at: number;
  expires_at: number;
  body: Sealed;
}

export interface EventTable {
  response_id: string;
  first: number;
  last: number;
  chars: number;
  expires_at: number;
  body: Sealed;
  /** Null: written before version 7 of the schema. */
  owner: string | null;
}

export interface ChatTable {
  id: string;
  owner: string;
  model: string;
  created_at: number;
  expires_at: number;
  metadata: Sealed;
  body: Sealed;
  messages: Sealed;
}

/** One row for each pair of a chat completion's metadata. */
export interface ChatMetadataTable {
  owner: string;
  /** A digest of the key and the value. */
  pair: string;
  chat_id: string;
}

/** For docs/store-schema.md. */
export const STATE_NOTES: TableNotes<StateTables> = {
  segments: {
    sealed: 'cache_key',
    isSwept: true,
    about: 'An append-only list of turns: a conversation, or a chain of responses.',
    columns: {
      id: 'of a conversation: `conv_…`',
      owner: '',
      kind: '`chain` or `conversation`; a conversation that was deleted is a chain',
      from_segment: 'the segment that it was forked from',
      from_pos: 'the last turn of that segment that belongs to it',
      tip: 'the position of its last turn; -1: it has none',
      locked_until: 'until then only `locked_by` may write to the conversation',
      locked_by: 'the request that holds the lock',
      cache_key: 'sealed; the key of the conversation for the prompt cache',
      created_at: '',
      expires_at: 'at least as late as for each of its responses; then it is unknown',
      sweep_at: 'when the sweep looks at it: at `expires_at`, or later if others were forked from it',
      body: 'sealed; the conversation; null for a chain',
      updated_at: 'when something was written to it; null: before version 4 of the schema',
    },
  },
  turns: {
    sealed: 'body',
    about: 'What one request added to a conversation. Positions have no gaps.',
    columns: {
      segment_id: '',
      pos: 'from 0 in each segment',
      key: 'names the turn in the ids of its input items',
      owner: '',
      response_id: 'null: items that were added without a response',
      total_chars:
        'the characters of all bodies up to this one when they were written, with those of earlier segments',
      body: 'sealed; the items of the turn',
    },
  },
  item_index: {
    about: 'Where the output item with this id is.',
    columns: { owner: '', id: 'of the item', segment_id: '', pos: '' },
  },
  responses: {
    sealed: 'body',
    isSwept: true,
    about: 'A response without its items, which are in its turn.',
    columns: {
      id: '',
      owner: '',
      segment_id: 'null until it has ended',
      pos: 'null until it has ended',
      status: 'as in the API',
      is_background: '0 or 1',
      lease_by: 'the instance that runs it; null: it does not run',
      lease_beat: 'raised by that instance for as long as it lives',
      created_at: '',
      expires_at: '',
      body: 'sealed; the response',
    },
  },
  run_events: {
    sealed: 'body',
    isSwept: true,
    about: 'Some consecutive events of a stream, for those that read it again.',
    columns: {
      response_id: '',
      first: 'the number of the first event',
      last: 'the number of the last event',
      chars: 'the characters of the body',
      owner: 'null: written before version 7 of the schema',
      expires_at: '',
      body: 'sealed; the events',
    },
  },
  chat_completions: {
    sealed: 'body',
    isSwept: true,
    about: 'A stored chat completion.',
    columns: {
      id: '',
      owner: '',
      model: '',
      created_at: '',
      expires_at: '',
      metadata: 'sealed',
      body: 'sealed; the answer',
      messages: 'sealed; the messages of the request',
    },
  },
  chat_metadata: {
    about: 'One row for each pair of metadata of a chat completion.',
    columns: {
      owner: '',
      pair: 'a digest of key and value, with the current key if there is one',
      chat_id: '',
    },
  },
};
