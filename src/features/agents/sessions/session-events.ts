import { yieldToLoop } from '../../../kit/async/event-loop.ts';
import { within } from '../../../kit/async/wait.ts';
import type { AgentEventStore, AgentSessionRow, AgentSessionStore } from '../store/port.ts';
import { SESSION_PREFIX, type SessionWatch } from './session-watch.ts';
import type { SessionEvent, StoredAgentEvent } from './objects.ts';
import { showRow } from './session-state.ts';

export interface SessionEventsOptions {
  readonly sessions: AgentSessionStore;
  readonly events: AgentEventStore;
  readonly watch: SessionWatch;
}

/** The id of an event: it says whose it is, and its number. */
export const eventId = (sessionId: string, number: number): string => `evt_${tailOf(sessionId)}_${number}`;

/** The id under which a reader gets the present state of a session. It is not stored: a reader that has seen it goes on after this number. */
const stateId = (sessionId: string, number: number): string => `${eventId(sessionId, number)}s`;

const TAIL_CHARS = 12;

const tailOf = (sessionId: string): string =>
  sessionId.slice(`${SESSION_PREFIX}_`.length).slice(0, TAIL_CHARS);

/** The number of an event of the session; null: the session has no such event. */
export const eventNumber = (sessionId: string, id: string): number | null => {
  const [, tail, number] = /^evt_([^_]*)_(\d{1,9})s?$/.exec(id) ?? [];
  return tail === tailOf(sessionId) && number !== undefined ? Number(number) : null;
};

/** A change is seen after this time even if it was not reported. */
const POLL_MS = 1_000;
/** Characters of one read. */
const READ_CHARS = 256 * 1024;
/** The database may be away for some seconds. */
const MAX_FAILURES = 10;

/** The present state of a session. */
export const stateEvent = (row: AgentSessionRow): StoredAgentEvent => {
  const session = showRow(row);
  return {
    type: `agent.session.${session.status}`,
    event_id: stateId(row.id, row.nextEvent - 1),
    session,
  };
};

export interface EventReading {
  readonly owner: string;
  readonly sessionId: string;
  /** The number of the last event that the reader knows. */
  readonly after: number;
  readonly signal: AbortSignal;
  /** Aborted: what is there is read, and no more. */
  readonly closing: AbortSignal;
}

interface ReadEvent {
  readonly number: number;
  readonly event: StoredAgentEvent;
}

/** Reads the events of sessions from the store, and follows them. */
export class SessionEvents {
  readonly #options: SessionEventsOptions;
  /** By session and place: readers at the same place share them. */
  readonly #reads = new Map<string, Promise<readonly ReadEvent[]>>();

  constructor(options: SessionEventsOptions) {
    this.#options = options;
  }

  /** Whether all events after this one are kept. */
  async hasAllAfter(row: AgentSessionRow, number: number): Promise<boolean> {
    if (number >= row.nextEvent) return false;
    if (number === row.nextEvent - 1) return true;
    const [batch] = await this.#options.events.after(row.owner, row.id, number, 1);
    return batch !== undefined && batch.first <= number + 1;
  }

  /** The events after a number, until the session is deleted or a signal is aborted. */
  async *read({ owner, sessionId, after, signal, closing }: EventReading): AsyncGenerator<StoredAgentEvent> {
    const { sessions, watch } = this.#options;
    let at = after;
    let failures = 0;
    let changed = Promise.withResolvers<void>();
    const wake = (): void => changed.resolve();
    const stopWatching = watch.on(sessionId, wake);
    signal.addEventListener('abort', wake);
    closing.addEventListener('abort', wake);
    try {
      while (!signal.aborted) {
        // Before the events are read: what comes later ends the wait.
        changed = Promise.withResolvers();
        const isLast = closing.aborted;
        try {
          const batch = await this.#after(owner, sessionId, at);
          for (const { number, event } of batch) {
            if (signal.aborted) return;
            at = number;
            yield event;
          }
          failures = 0;
          if (batch.length > 0) {
            // There may be many readers.
            await yieldToLoop();
            continue;
          }
          if (isLast) return;
          if ((await sessions.find(owner, sessionId)) === null) return;
        } catch (error) {
          failures += 1;
          if (failures > MAX_FAILURES || isLast) throw error;
        }
        await untilChange(changed.promise);
      }
    } finally {
      stopWatching();
      signal.removeEventListener('abort', wake);
      closing.removeEventListener('abort', wake);
    }
  }

  async #after(owner: string, sessionId: string, at: number): Promise<readonly ReadEvent[]> {
    const place = JSON.stringify([owner, sessionId, at]);
    const shared = await this.#reads.get(place);
    // One that began earlier may have missed the newest events.
    if (shared !== undefined && shared.length > 0) return shared;
    const read = this.#reads.get(place) ?? this.#read(owner, sessionId, at);
    this.#reads.set(place, read);
    try {
      return await read;
    } finally {
      if (this.#reads.get(place) === read) this.#reads.delete(place);
    }
  }

  async #read(owner: string, sessionId: string, at: number): Promise<readonly ReadEvent[]> {
    const batches = await this.#options.events.after(owner, sessionId, at, READ_CHARS);
    return batches.flatMap(({ first, events }) =>
      events.flatMap((text, index) => {
        const number = first + index;
        if (number <= at) return [];
        const event = { ...(JSON.parse(text) as SessionEvent), event_id: eventId(sessionId, number) };
        return [{ number, event }];
      }),
    );
  }
}

const untilChange = async (changed: Promise<void>): Promise<void> => {
  await within(changed, POLL_MS);
};
