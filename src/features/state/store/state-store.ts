import type { OperationsOf } from '../../../store/operation.ts';
import type { StorePart } from '../../../store/part.ts';
import type { Store } from '../../../store/store.ts';
import { segmentOperations } from './all-segments.ts';
import { chatOperations } from './chats.ts';
import { conversationOperations } from './conversations.ts';
import { eventOperations } from './events.ts';
import { STATE_MIGRATIONS } from './migrations.ts';
import type { StateStore } from './port.ts';
import { responseOperations } from './responses.ts';
import { sweepState } from './sweep.ts';
import { STATE_NOTES } from './tables.ts';
import { turnOperations } from './turns.ts';

const OPERATIONS: {
  readonly [Part in Exclude<keyof StateStore, keyof Store>]: OperationsOf<StateStore[Part]>;
} = {
  turns: turnOperations,
  responses: responseOperations,
  conversations: conversationOperations,
  events: eventOperations,
  chats: chatOperations,
  segments: segmentOperations,
};

/** The parts share their tables. */
export const STATE_STORE: readonly StorePart[] = [
  {
    name: 'turns',
    operations: OPERATIONS.turns,
    migrations: STATE_MIGRATIONS,
    tables: STATE_NOTES,
    status: {
      responses: { text: (rows) => String(rows['responses']) },
      turns: { text: (rows) => `${rows['turns']} in ${rows['segments']} conversations and chains` },
      chats: { text: (rows) => String(rows['chat_completions']) },
      events: { text: (rows) => `${rows['run_events']} batches` },
    },
    sweep: sweepState,
  },
  ...Object.entries(OPERATIONS)
    .filter(([name]) => name !== 'turns')
    .map(([name, operations]): StorePart => ({ name, operations, migrations: {}, tables: {} })),
];

/** A store with the parts of this feature: those of every server have them. */
export const stateStoreOf = (store: Store): StateStore => store as StateStore;
