import { ApiError } from '../../api/api-error.ts';
import { api, send } from '../../api/client.ts';
import { readEvents } from '../../api/read-events.ts';
import type { List } from '../../api/use-pages.ts';
import {
  pagePath,
  sessionPath,
  type AgentEvent,
  type AgentItem,
  type AgentSession,
  type AgentTurn,
} from './agent-answers.ts';
import { afterEvents, watchedOf, withEarlier, type Watched } from './watched.ts';

/** How the page is connected with the session. */
export type Link =
  | { readonly kind: 'connecting' | 'live' }
  /** The connection was lost, and is tried again. */
  | { readonly kind: 'waiting'; readonly reason: string }
  /** The session does not exist any more. */
  | { readonly kind: 'gone'; readonly wasThere: boolean }
  | { readonly kind: 'refused'; readonly error: unknown };

export interface WatchState {
  /** Null until it was loaded. */
  readonly watched: Watched | null;
  readonly link: Link;
  readonly hasEarlier: boolean;
  readonly isLoadingEarlier: boolean;
  readonly earlierError: unknown;
}

export const FIRST_STATE: WatchState = {
  watched: null,
  link: { kind: 'connecting' },
  hasEarlier: false,
  isLoadingEarlier: false,
  earlierError: null,
};

/** Events are shown together, a few times in a second. */
const FLUSH_MS = 50;
/** The server sends a comment every 15 seconds. */
const SILENT_MS = 45_000;
const RETRY_MS = [300, 1000, 2000, 4000, 8000];
/** Commands may have large outputs. */
const ITEMS = 40;
const TURNS = 100;
/** Ids of the newest events: one that comes again is skipped. */
const REMEMBERED = 1000;

/** Follows a session: loads what was, shows what comes, and connects again after the last event that arrived. */
export class SessionWatch {
  readonly #id: string;
  readonly #onState: (state: WatchState) => void;
  readonly #stopped = new AbortController();
  #state: WatchState = FIRST_STATE;
  #queue: AgentEvent[] = [];
  #timer = 0;
  #seen: string[] = [];
  #lastEventId: string | null = null;
  #failures = 0;
  /** Everything before the events in the queue was loaded. */
  #isReady = false;
  #wake: () => void = () => undefined;
  #earliest: { readonly item: string | null; readonly turn: string | null } = { item: null, turn: null };

  constructor(id: string, onState: (state: WatchState) => void) {
    this.#id = id;
    this.#onState = onState;
  }

  stop(): void {
    this.#stopped.abort();
    window.clearTimeout(this.#timer);
    this.#wake();
  }

  /** Connects at once instead of waiting. */
  retry(): void {
    this.#wake();
  }

  async run(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      const reason = await this.#follow();
      if (this.#stopped.signal.aborted || reason === null) return;
      const waitMs = RETRY_MS[Math.min(this.#failures, RETRY_MS.length - 1)] ?? 0;
      this.#failures += 1;
      // The first try follows soon: a note would only flicker.
      this.#set({ link: this.#failures === 1 ? { kind: 'connecting' } : { kind: 'waiting', reason } });
      await new Promise<void>((resolve) => {
        const timer = window.setTimeout(resolve, waitMs);
        this.#wake = () => {
          window.clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  async loadEarlier(): Promise<void> {
    if (this.#state.isLoadingEarlier) return;
    this.#set({ isLoadingEarlier: true, earlierError: null });
    try {
      const { turns, items } = await this.#history();
      const { watched } = this.#state;
      if (watched !== null) this.#set({ watched: withEarlier(watched, turns, items) });
    } catch (error) {
      this.#set({ earlierError: error });
    }
    this.#set({ isLoadingEarlier: false });
  }

  #set(change: Partial<WatchState>): void {
    if (this.#stopped.signal.aborted) return;
    this.#state = { ...this.#state, ...change };
    this.#onState(this.#state);
  }

  /** Reads the stream until it ends. Returns why; null: it is not tried again. */
  async #follow(): Promise<string | null> {
    const connection = new AbortController();
    const signal = AbortSignal.any([this.#stopped.signal, connection.signal]);
    let silence = 0;
    let isSilent = false;
    const heard = (): void => {
      window.clearTimeout(silence);
      this.#failures = 0;
      silence = window.setTimeout(() => {
        isSilent = true;
        connection.abort();
      }, SILENT_MS);
    };
    try {
      const { body } = await send(`${sessionPath(this.#id)}/events`, {
        signal,
        headers: {
          accept: 'text/event-stream',
          ...(this.#lastEventId === null ? {} : { 'last-event-id': this.#lastEventId }),
        },
      });
      if (body === null) throw new Error('The stream has no body.');
      const isFresh = this.#lastEventId === null;
      if (isFresh) [this.#isReady, this.#queue] = [false, []];
      const reading = this.#read(body.pipeThrough(noting(heard)));
      // What comes meanwhile is applied to what was loaded.
      if (isFresh) await Promise.race([this.#load(), failureOf(reading)]);
      this.#isReady = true;
      this.#set({ link: { kind: 'live' } });
      this.#flush();
      await reading;
      return 'The server ended the connection.';
    } catch (error) {
      return isSilent ? 'The server has sent nothing for 45 seconds.' : this.#afterError(error);
    } finally {
      window.clearTimeout(silence);
      connection.abort();
    }
  }

  #afterError(error: unknown): string | null {
    if (error instanceof ApiError) {
      if (error.status === 404 && error.code === 'unknown_session') {
        this.#set({ link: { kind: 'gone', wasThere: this.#state.watched !== null } });
        return null;
      }
      // The events after the last one are not kept any more: everything is loaded again.
      if (error.code === 'not_streamable' && this.#lastEventId !== null) this.#lastEventId = null;
      else if (error.status >= 400 && error.status < 500 && ![408, 409, 429].includes(error.status)) {
        this.#set({ link: { kind: 'refused', error } });
        return null;
      }
      return error.message;
    }
    return error instanceof TypeError ? 'The connection was lost.' : String(error);
  }

  async #read(stream: ReadableStream<Uint8Array>): Promise<void> {
    for await (const event of readEvents<AgentEvent>(stream)) {
      this.#lastEventId = event.event_id;
      if (this.#seen.includes(event.event_id)) continue;
      this.#seen.push(event.event_id);
      if (this.#seen.length > REMEMBERED) this.#seen = this.#seen.slice(-REMEMBERED / 2);
      this.#queue.push(event);
      if (this.#timer === 0) this.#timer = window.setTimeout(() => this.#flush(), FLUSH_MS);
    }
    this.#flush();
  }

  #flush(): void {
    window.clearTimeout(this.#timer);
    this.#timer = 0;
    const { watched } = this.#state;
    if (watched === null || !this.#isReady || this.#queue.length === 0) return;
    const events = this.#queue;
    this.#queue = [];
    this.#set({ watched: afterEvents(watched, events) });
  }

  /** Loads the session with its newest turns and items. */
  async #load(): Promise<void> {
    this.#earliest = { item: null, turn: null };
    const [session, { turns, items }] = await Promise.all([
      api.get<AgentSession>(sessionPath(this.#id), this.#stopped.signal),
      this.#history(),
    ]);
    this.#set({ watched: watchedOf(session, turns, items) });
  }

  /** The page of items before those that were loaded, with their turns, in the order in which they began. */
  async #history(): Promise<{ readonly turns: readonly AgentTurn[]; readonly items: readonly AgentItem[] }> {
    const { signal } = this.#stopped;
    const path = sessionPath(this.#id);
    const { item, turn } = this.#earliest;
    const items = await api.get<List<AgentItem>>(
      pagePath(`${path}/items`, { limit: ITEMS, after: item }),
      signal,
    );
    const turns = await api.get<List<AgentTurn>>(
      pagePath(`${path}/turns`, { limit: TURNS, after: turn }),
      signal,
    );
    this.#earliest = { item: items.last_id ?? item, turn: turns.last_id ?? turn };
    this.#set({ hasEarlier: items.has_more });
    return { turns: turns.data.toReversed(), items: items.data.toReversed() };
  }
}

/** Never resolves, but rejects with the promise. */
const failureOf = (promise: Promise<unknown>): Promise<never> =>
  new Promise((_, reject) => void promise.catch(reject));

/** Passes everything on, and calls the function whenever something arrives, also a comment. */
const noting = (heard: () => void): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> =>
  new TransformStream({
    transform(chunk, controller) {
      heard();
      controller.enqueue(chunk);
    },
  });
