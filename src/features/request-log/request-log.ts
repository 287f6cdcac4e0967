import type { RequestSpans } from '../../canonical/context/request-trace.ts';
import type { Ambient } from '../../kit/ambient.ts';
import {
  NO_SPANS,
  requestEnd,
  type RequestEnd,
  type RequestNotes,
  type StartedRequest,
} from '../../observe/request-end.ts';
import type { RequestObserver, RequestWatch } from '../../observe/request-observer.ts';
import type { RequestSearch, RequestStore } from './store.ts';
import { LiveFeed, type FeedMessage, type WatchedRequest } from './live-feed.ts';
import type { LogWriter } from './log-writer.ts';
import {
  boundedSpans,
  mintRecordId,
  recordIn,
  recordOf,
  requestRowOf,
  runningRecord,
  type EndedRequest,
  type RecordNames,
  type RequestRecord,
} from './record.ts';

export interface RequestLogOptions {
  readonly ambient: Ambient;
  /** The id of this server. */
  readonly instance: string;
  /** The paths whose `POST` runs turns. */
  readonly turnPaths: ReadonlySet<string>;
  /** How many requests that have ended are kept in memory. */
  readonly maxInMemory: number;
  /** Where they are kept longer; null: nowhere. */
  readonly kept: KeptRequests | null;
  readonly print: (message: FeedMessage) => string;
  /** A request is not kept: too many of this key, or without one, cost their sender nothing. */
  readonly onSkipped: (reason: 'key' | 'no_key') => void;
}

export interface KeptRequests {
  readonly store: RequestStore;
  readonly writer: LogWriter;
  readonly ttlMs: number;
}

/** Requests that were found. */
export interface FoundRequests {
  readonly records: readonly RequestRecord[];
  /** `memory`: only those of this server since its start, because nothing is stored, or the store cannot be read. */
  readonly source: 'store' | 'memory';
}

/** Health checks, and pages with what they load: many, and of no interest. */
const UNWATCHED = /^\/(?:healthz|readyz|metrics|console(?:\/.*)?|docs\/.*)?$/;

/** Requests without a model request that are kept in a minute, of each key and of all without one: they replace others. */
const MAX_FREE = 60;
const MINUTE_MS = 60_000;

/**
 * Remembers requests: those that run turns from their start on, and those of other routes if they fail. Must be fast: every
 * request waits for it.
 */
export class RequestLog implements RequestObserver {
  readonly feed: LiveFeed;
  readonly #options: RequestLogOptions;
  readonly #memory: MemoryHistory;
  readonly #running = new Map<string, RunningRequest>();
  /** The free requests of this minute, by the id of their key. */
  #free = { since: 0, counts: new Map<string | null, number>() };

  constructor(options: RequestLogOptions) {
    this.#options = options;
    this.#memory = new MemoryHistory(options.maxInMemory);
    this.feed = new LiveFeed({ running: () => this.#running.values(), print: options.print });
  }

  open(request: StartedRequest): RequestWatch | null {
    if (UNWATCHED.test(request.route)) return null;
    const { ambient, instance } = this.#options;
    const id = mintRecordId(ambient, request.startedAt);
    if (!this.#runsTurns(request)) {
      return {
        end: (end) => {
          if (end.status >= 400) this.#keep(recordOf(end, { id, instance }), end);
        },
      };
    }
    const running = new RunningRequest({ id, instance }, request);
    if (request.backgroundId !== null) running.note({ capture: this.#captureOf(request) });
    this.#running.set(id, running);
    this.feed.changed(running, 'request.started');
    return {
      note: (notes) => {
        running.note(notes);
        this.feed.changed(running, 'request.changed');
      },
      end: (end) => {
        this.#running.delete(id);
        running.end(end);
        this.#keep(running.record(), end);
        this.feed.changed(running, 'request.ended');
      },
    };
  }

  /** Those that run, the newest first. */
  running(search: RequestSearch): readonly RequestRecord[] {
    return [...this.#running.values()]
      .toReversed()
      .map((request) => request.record())
      .filter((record) => matches(record, search))
      .slice(0, search.limit);
  }

  /** Those that have ended, the newest first. */
  async list(search: RequestSearch): Promise<FoundRequests> {
    const { kept } = this.#options;
    if (kept === null) return { records: this.#memory.list(search), source: 'memory' };
    try {
      await kept.writer.flush();
      const rows = await kept.store.list(search);
      return { records: rows.map(recordIn), source: 'store' };
    } catch {
      // The store reports its failures itself, and now it matters most what happened.
      return { records: this.#memory.list(search), source: 'memory' };
    }
  }

  /** By its id, or by its request id or that of its response: then the newest one. Null: unknown. */
  async find(id: string): Promise<EndedRequest | null> {
    const own = await this.#findOwn(id);
    if (own !== null) return own;
    const search = { ...ANY_REQUEST, text: id, limit: MAX_NAMESAKES };
    const isMeant = ({ requestId, responseId }: RequestRecord) => requestId === id || responseId === id;
    const found = this.running(search).find(isMeant) ?? (await this.list(search)).records.find(isMeant);
    return found === undefined ? null : this.#findOwn(found.id);
  }

  async close(): Promise<void> {
    this.feed.close();
    await this.#options.kept?.writer.close();
  }

  async #findOwn(id: string): Promise<EndedRequest | null> {
    const running = this.#running.get(id);
    if (running !== undefined) return { record: running.record(), spans: NO_SPANS };
    const recent = this.#memory.find(id);
    if (recent !== null) return recent;
    const row = (await this.#options.kept?.store.find(id)) ?? null;
    return row === null ? null : { record: recordIn(row), spans: JSON.parse(row.spans) as RequestSpans };
  }

  #runsTurns({ method, route, backgroundId }: StartedRequest): boolean {
    if (method === 'WEBSOCKET' || backgroundId !== null) return true;
    return method === 'POST' && this.#options.turnPaths.has(route);
  }

  /** A background run begins while its request is still being answered, and both are in one capture. */
  #captureOf({ requestId, startedAt }: StartedRequest): string | null {
    for (const running of this.#running.values()) {
      const record = running.record();
      if (record.requestId === requestId && record.startedAt === startedAt) return record.capture;
    }
    return null;
  }

  #keep(record: RequestRecord, { spans }: RequestEnd): void {
    const ended = { record, spans: boundedSpans(spans) };
    if (isFree(ended) && !this.#hasRoomForFree(ended.record.keyId)) {
      this.#options.onSkipped(ended.record.keyId === null ? 'no_key' : 'key');
      return;
    }
    this.#memory.add(ended);
    const { kept, ambient } = this.#options;
    kept?.writer.add(requestRowOf(ended, ambient.clock.now() + kept.ttlMs));
  }

  #hasRoomForFree(keyId: string | null): boolean {
    const now = this.#options.ambient.clock.now();
    if (Math.abs(now - this.#free.since) >= MINUTE_MS) this.#free = { since: now, counts: new Map() };
    const count = (this.#free.counts.get(keyId) ?? 0) + 1;
    this.#free.counts.set(keyId, count);
    return count <= MAX_FREE;
  }
}

/** It cost its sender nothing: it failed, or had nothing to answer, and the model was not asked. */
const isFree = ({ record, spans }: EndedRequest): boolean => {
  const { status, error, usage } = record;
  const hasFailed = error !== null || (status ?? 0) >= 400;
  const isEmpty = usage !== null && usage.inputTokens + usage.outputTokens === 0;
  return (hasFailed || isEmpty) && !spans.spans.some(({ name }) => name === 'model-request');
};

/** Requests with the same beginning of an id that are looked at. */
const MAX_NAMESAKES = 100;

export const ANY_REQUEST: RequestSearch = {
  result: null,
  status: null,
  errorCode: null,
  model: null,
  keyId: null,
  client: null,
  text: null,
  from: null,
  before: null,
  limit: 1,
};

/** One request, while it runs and when it has ended. Its record is made when it is read. */
class RunningRequest implements WatchedRequest {
  readonly #names: RecordNames;
  readonly #request: StartedRequest;
  #notes: RequestNotes = {};
  #record: RequestRecord | null = null;

  constructor(names: RecordNames, request: StartedRequest) {
    this.#names = names;
    this.#request = request;
  }

  note(notes: RequestNotes): void {
    this.#notes = { ...this.#notes, ...notes };
    this.#record = null;
  }

  end(end: RequestEnd): void {
    this.#record = recordOf({ ...end, capture: end.capture ?? this.#notes.capture ?? null }, this.#names);
  }

  record(): RequestRecord {
    this.#record ??= runningRecord(requestEnd(this.#request, this.#notes, 0), this.#names);
    return this.#record;
  }
}

/** The last requests of this server. */
class MemoryHistory {
  readonly #max: number;
  /** The oldest first. */
  #ended: EndedRequest[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  add(ended: EndedRequest): void {
    this.#ended.push(ended);
    // Copied seldom, not for every request.
    if (this.#ended.length >= 2 * this.#max) this.#ended = this.#ended.slice(-this.#max);
  }

  /** By the id of the record. */
  find(id: string): EndedRequest | null {
    return this.#kept().find(({ record }) => record.id === id) ?? null;
  }

  list(search: RequestSearch): readonly RequestRecord[] {
    return this.#kept()
      .map(({ record }) => record)
      .filter((record) => matches(record, search))
      .toSorted((one, other) => (one.id < other.id ? 1 : -1))
      .slice(0, search.limit);
  }

  #kept(): readonly EndedRequest[] {
    return this.#max === 0 ? [] : this.#ended.slice(-this.#max);
  }
}

/** Whether the record is one of those that are looked for: the same as the query of the store. */
const matches = (record: RequestRecord, search: RequestSearch): boolean => {
  const { id, requestId, responseId, status, error } = record;
  const { result, status: wanted, text, from, before } = search;
  return (
    (result === null || (result === 'failed') === (error !== null)) &&
    (wanted === null || ((status ?? 0) >= wanted.from && (status ?? 0) < wanted.below)) &&
    isWanted(error?.code ?? null, search.errorCode) &&
    isWanted(record.model, search.model) &&
    isWanted(record.keyId, search.keyId) &&
    isWanted(record.client, search.client) &&
    (from === null || id >= from) &&
    (before === null || id < before) &&
    (text === null || [id, requestId, responseId].some((name) => name?.startsWith(text) === true))
  );
};

const isWanted = (value: string | null, wanted: string | null): boolean =>
  wanted === null || value === wanted;
