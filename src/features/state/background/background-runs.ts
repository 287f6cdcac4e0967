import { failure, type Failure, failureOf } from '../../../canonical/failure/failure.ts';
import type { SentRequest } from '../../../http/turn/start-turn.ts';
import type { Clock } from '../../../kit/ambient.ts';
import { runSliced } from '../../../kit/async/event-loop.ts';
import { within } from '../../../kit/async/wait.ts';
import { isJsonObject, type JsonObject } from '../../../kit/json/json.ts';
import type { OnChange } from '../../../store/store.ts';
import type { Lease, ResponseRow, ResponseStatus, StateStore } from '../store/port.ts';
import type { BackgroundResponse, Frame } from '../../../turns/api.ts';
import type { DetachedRun } from '../../../turns/run.ts';
import type { TurnState } from '../../../turns/turn-state.ts';
import type { EventLog } from './event-log.ts';
import { Leases } from './leases.ts';
import { ResponseGone, SHORT_TTL_MS } from '../turn-states.ts';
import type { ResponseEvents } from './response-events.ts';
import { isRunning, readResponse, responseBody } from '../stored-turn.ts';

export interface BackgroundRunsOptions extends Omit<BackgroundRunDeps, 'store'> {
  readonly store: StateStore;
  /** The id of this process. */
  readonly instance: string;
  /** How many lost responses this instance may run again now. */
  readonly room: () => number;
  /** Runs a lost response again, until it has ended. Rejects if it cannot. Null: lost responses fail. */
  readonly rerun: ((lost: LostResponse) => Promise<void>) | null;
  readonly onChange: (state: { readonly queued: number; readonly running: number }) => void;
  readonly onLost: (row: ResponseRow, isRunAgain: boolean) => void;
  /** For tests. */
  readonly leaseEveryMs?: number;
}

/** A response whose instance has stopped. */
export interface LostResponse {
  readonly row: ResponseRow;
  readonly request: SentRequest;
  /** The number of the next event. */
  readonly firstEvent: number;
  /** Aborted while the response is prepared, if this instance may not run it any more. */
  readonly signal: AbortSignal;
}

/** A response that stops its server each time it runs must not stop every server forever. */
const MAX_RERUNS = 2;
/** How many lost responses may fail at once. */
const MAX_TAKEN = 100;
const LEFT = new Error('this instance may not run the background response any more');
/** For the readers of a stopped run, whose requests are aborted at the limit. */
const READ_END_MS = 500;
/** After runs were stopped: to write that. */
const STOP_MS = 5_000;

/** The background responses that run on this instance. */
export class BackgroundRuns {
  readonly #options: BackgroundRunsOptions;
  readonly #leases: Leases;
  readonly #running = new Map<string, { readonly run: BackgroundRun; readonly ended: Promise<void> }>();
  readonly #accepted = new Set<string>();
  /** Lost responses that were taken over and do not run yet. */
  readonly #taken = new Map<string, AbortController>();
  readonly #stopWatching: () => void;

  constructor(options: BackgroundRunsOptions) {
    this.#options = options;
    this.#leases = new Leases({
      store: options.store.responses,
      instance: options.instance,
      room: options.rerun === null ? () => MAX_TAKEN : () => options.room() - this.#taken.size,
      onTaken: (rows) => void this.#take(rows),
      onError: options.onError,
      ...(options.leaseEveryMs === undefined ? {} : { everyMs: options.leaseEveryMs }),
    });
    this.#stopWatching = options.store.watch(this.#changed);
  }

  /** Looks for lost responses from now on. */
  start(): void {
    this.#leases.start();
  }

  /** Adds the row of a response. Rejects if it cannot: then the response does not exist. */
  add({ owner, response }: BackgroundRun, request: SentRequest | null): Promise<void> {
    return this.#options.rows.add(owner, response, { lease: this.#leases.current, request });
  }

  open(options: Omit<BackgroundRunOptions, 'onAccepted'>): BackgroundRun {
    const { id } = options.response;
    const onAccepted = (): void => {
      this.#accepted.add(id);
      this.#tell();
    };
    return new BackgroundRun({ ...options, onAccepted }, this.#options);
  }

  /** Resolves when the run has ended. */
  execute(run: BackgroundRun, detached: DetachedRun): Promise<void> {
    this.#taken.delete(run.id);
    this.#leases.hold(run.id, () => void run.lost());
    const ended = run.execute(detached).finally(() => {
      this.#leases.drop(run.id);
      this.#running.delete(run.id);
      this.#accepted.delete(run.id);
      this.#tell();
    });
    this.#running.set(run.id, { run, ended });
    this.#tell();
    return ended;
  }

  /** Stops a response, wherever it runs. */
  async cancel(row: ResponseRow): Promise<void> {
    if (!isRunning(row.status) || !(await this.#options.rows.cancel(row))) return;
    const own = this.#running.get(row.id);
    own?.run.stop('cancelled');
  }

  /** Waits for the running responses up to the limit, then stops the rest: a little earlier, so that readers see the end. */
  async drain(timeoutMs: number): Promise<void> {
    this.#leases.stopTaking();
    // Other instances run them: their leases are not renewed.
    for (const taken of this.#taken.values()) taken.abort(LEFT);
    await within(this.#all(), Math.max(timeoutMs / 2, timeoutMs - READ_END_MS));
    for (const { run } of this.#running.values()) {
      run.stop(this.#options.rerun === null ? 'interrupted' : 'left');
    }
    await within(this.#all(), STOP_MS);
    this.#leases.stop();
    this.#stopWatching();
  }

  #all(): Promise<unknown> {
    return Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }

  readonly #changed: OnChange = (id, what) => {
    if (what !== 'status') return;
    const changed = id === '*' ? [...this.#running.values()] : [this.#running.get(id)];
    for (const one of changed) void one?.run.check();
  };

  #tell(): void {
    const running = this.#accepted.size;
    this.#options.onChange({ running, queued: this.#running.size - running });
  }

  async #take(rows: readonly ResponseRow[]): Promise<void> {
    // All at once: while the first is prepared, another instance must not take the others, nor this one.
    const taken = rows.map((row) => ({ row, signal: this.#hold(row.id) }));
    for (const { row, signal } of taken) {
      try {
        if (signal.aborted) this.#letGo(row.id);
        else await this.#takeOne(row, signal);
      } catch (error) {
        // Its lease is not renewed any more, so it is found again.
        this.#letGo(row.id);
        this.#options.onError(error);
      }
    }
  }

  async #takeOne(row: ResponseRow, signal: AbortSignal): Promise<void> {
    const { rerun, onLost, events } = this.#options;
    const { request = null } = await runSliced(readResponse(row), null);
    const firstEvent = await events.next(row.id);
    const mayRun = rerun !== null && request !== null && request.reruns < MAX_RERUNS;
    onLost(row, mayRun);
    const again = mayRun ? { ...request, reruns: request.reruns + 1 } : null;
    if (again === null) await this.#fail(row, firstEvent);
    if (again === null || rerun === null || !(await this.#options.rows.again(row, again))) {
      this.#letGo(row.id);
      return;
    }
    // Not awaited: it runs for as long as it takes.
    void this.#rerun(rerun, { row, request: again, firstEvent, signal });
  }

  async #rerun(rerun: (lost: LostResponse) => Promise<void>, lost: LostResponse): Promise<void> {
    const { row, firstEvent, signal } = lost;
    try {
      await rerun(lost);
    } catch (error) {
      // Another instance runs it now, or it was cancelled or deleted.
      if (signal.aborted) return;
      this.#options.onError(error);
      await this.#fail(row, firstEvent).catch(this.#options.onError);
    } finally {
      this.#letGo(row.id);
    }
  }

  /** Renews the lease of a response that is prepared. Its signal says if it was lost. */
  #hold(id: string): AbortSignal {
    const taken = new AbortController();
    this.#taken.set(id, taken);
    this.#leases.hold(id, () => taken.abort(LEFT));
    return taken.signal;
  }

  /** A response that was taken over is not prepared any more. */
  #letGo(id: string): void {
    if (this.#taken.delete(id)) this.#leases.drop(id);
  }

  async #fail(row: ResponseRow, firstEvent: number): Promise<void> {
    const { rows, events, store, ending, clock } = this.#options;
    if (!(await rows.fail(row.owner, row.id, interrupted()))) return;
    const texts = await ending(row.owner, row.id, firstEvent);
    const expiresAt = clock.now() + SHORT_TTL_MS;
    const batch = { first: firstEvent, last: firstEvent + texts.length - 1, body: texts.join('') };
    await store.events.append(row.owner, row.id, batch, expiresAt);
    await store.events.expire(row.id, expiresAt);
    events.hide(row.id);
  }
}

interface BackgroundRunDeps {
  readonly store: StateStore;
  readonly rows: BackgroundRows;
  readonly events: ResponseEvents;
  readonly clock: Clock;
  /** The text of an event. */
  readonly encode: (frame: Frame) => string | Promise<string>;
  /** The texts of the events that end the stream of a response, numbered from `first` on. */
  readonly ending: (owner: string, id: string, first: number) => Promise<readonly string[]>;
  readonly onBug: (error: unknown, id: string) => void;
  readonly onError: (error: unknown) => void;
}

interface BackgroundRunOptions {
  readonly owner: string;
  readonly response: BackgroundResponse;
  readonly isStream: boolean;
  /** The number of the first event; above 0: the response runs again. */
  readonly firstEvent: number;
  /** The backend has accepted it. */
  readonly onAccepted: () => void;
}

/**
 * Why a run was stopped. `cancelled`: its row says so. `gone`: its row was deleted, or another instance has it. `interrupted`:
 * this server stops. `left`: the same, and another instance runs it again.
 */
type StopReason = 'cancelled' | 'gone' | 'interrupted' | 'left';

/** A reader on another instance is at most so much behind: half of the time until the next batch, and the writes. */
const STREAM_BATCH_MS = 20;
/** No client has asked for a stream yet. */
const BATCH_MS = 200;
/** How long the end waits for earlier events to be written, so that no more than the end is lost with this process. */
const FLUSH_MS = 5_000;
const LAST_FLUSH_MS = 30_000;
const DONE: Frame = { event: 'done', data: '[DONE]' };
const STOPPED = new Error('the background response was stopped');

/** Runs a response without a client: reads its frames, and keeps its row and its events up to date. */
export class BackgroundRun {
  readonly id: string;
  readonly owner: string;
  readonly #options: BackgroundRunOptions;
  readonly #deps: BackgroundRunDeps;
  readonly #log: EventLog;
  readonly #stopping = Promise.withResolvers<void>();
  #run: DetachedRun | null = null;
  #stopped: StopReason | null = null;
  #recording: 'no' | 'tried' | 'done' = 'no';
  #failure: Failure | null = null;
  /** Whether the last event was added. */
  #hasEnd = false;

  constructor(options: BackgroundRunOptions, deps: BackgroundRunDeps) {
    this.id = options.response.id;
    this.owner = options.owner;
    this.#options = options;
    this.#deps = deps;
    this.#log = deps.events.open({
      owner: this.owner,
      responseId: this.id,
      first: options.firstEvent,
      batchMs: options.isStream ? STREAM_BATCH_MS : BATCH_MS,
      expiresAt: deps.rows.expiryOf(options.response),
    });
  }

  get response(): BackgroundResponse {
    return this.#options.response;
  }

  /** It never existed. */
  discard(): void {
    this.#log.abandon();
    this.#deps.events.hide(this.id);
  }

  /** The state of the request, as the run should use it. */
  stateOf(state: TurnState): TurnState {
    return {
      ...state,
      record: async (answer) => {
        await within(this.#log.flush(), FLUSH_MS);
        // A turn that is interrupted ends as failed, which is not the end of the response.
        if (this.#stopped !== null) throw STOPPED;
        this.#recording = 'tried';
        try {
          const isKept = await state.record(answer);
          this.#recording = 'done';
          return isKept;
        } catch (error) {
          this.#failure = failureOf(error);
          if (error instanceof ResponseGone) await this.#findReason();
          throw error;
        }
      },
    };
  }

  /** The backend has accepted the turn. */
  async accepted(): Promise<void> {
    this.#options.onAccepted();
    try {
      if (!(await this.#deps.rows.accept(this.owner, this.id))) await this.#findReason();
    } catch (error) {
      // It stays queued for those who look, until it ends.
      this.#deps.onError(error);
    }
  }

  /** Its lease could not be renewed: it was cancelled, deleted, or taken over. */
  async lost(): Promise<void> {
    // It ended here.
    if (this.#recording !== 'no') return;
    try {
      await this.#findReason();
    } catch (error) {
      // The next renewal finds it, too.
      this.#deps.onError(error);
    }
  }

  /** Something of the row changed. */
  async check(): Promise<void> {
    // The change is its own end.
    if (this.#recording !== 'no') return;
    try {
      const found = await this.#deps.store.responses.at(this.owner, this.id);
      if (found === null) this.stop('gone');
      else if (found.status === 'cancelled') this.stop('cancelled');
    } catch (error) {
      this.#deps.onError(error);
    }
  }

  stop(reason: StopReason): void {
    if (this.#stopped !== null) return;
    this.#stopped = reason;
    this.#run?.cancel(STOPPED);
    this.#stopping.resolve();
  }

  /** Resolves when nothing of it runs any more and everything is written, as far as it can be. */
  async execute(run: DetachedRun): Promise<void> {
    this.#run = run;
    if (this.#stopped !== null) run.cancel(STOPPED);
    try {
      for await (const frame of run.events()) await this.#add(frame);
    } catch (error) {
      if (this.#stopped === null) {
        this.#failure = failureOf(error);
        this.#deps.onBug(error, this.id);
      }
    }
    try {
      await this.#settle();
    } catch (error) {
      this.#deps.onError(error);
      this.#log.abandon();
    } finally {
      this.#deps.events.hide(this.id);
    }
  }

  /** A cancelled response and a deleted one end without another event. */
  async #findReason(): Promise<void> {
    const found = await this.#deps.store.responses.at(this.owner, this.id);
    this.stop(found?.status === 'cancelled' ? 'cancelled' : 'gone');
  }

  async #add(frame: Frame): Promise<void> {
    if (this.#stopped !== null) throw STOPPED;
    const numbered = this.#options.firstEvent === 0 ? frame : this.#again(frame);
    if (numbered === null) return;
    this.#log.add(await this.#deps.encode(numbered));
    this.#hasEnd = numbered.event === DONE.event;
    await Promise.race([this.#log.room(), this.#stopping.promise]);
  }

  /** Its readers know the beginning of the response already. */
  #again(frame: Frame): Frame | null {
    if (frame.event === 'response.created' || frame.event === 'response.queued') return null;
    if (frame.event === DONE.event) return frame;
    return { ...frame, data: { ...(frame.data as JsonObject), sequence_number: this.#log.next } };
  }

  async #settle(): Promise<void> {
    const log = this.#log;
    if (this.#stopped === 'gone' || this.#stopped === 'left') {
      await within(log.flush(), FLUSH_MS);
      log.abandon();
      return;
    }
    if (this.#stopped === 'cancelled') log.add(await this.#deps.encode(DONE));
    else await this.#complete();
    log.end();
    await within(log.flush(), LAST_FLUSH_MS);
    log.abandon();
    await this.#deps.store.events.expire(this.id, this.#deps.clock.now() + SHORT_TTL_MS);
  }

  /** Its answer may not be stored, or its events have no end, after a bug or because this server stops. */
  async #complete(): Promise<void> {
    const { rows, ending } = this.#deps;
    if (this.#recording !== 'done') {
      const why = this.#stopped === 'interrupted' ? interrupted() : this.#failure;
      await rows.fail(this.owner, this.id, why ?? failure('server_error'));
    }
    if (this.#hasEnd) return;
    for (const text of await ending(this.owner, this.id, this.#log.next)) this.#log.add(text);
  }
}

const interrupted = (): Failure =>
  failure('server_error', {
    message: 'The response was interrupted because the server that ran it has stopped. Please send it again.',
  });

interface BackgroundRowsOptions {
  readonly store: StateStore;
  readonly clock: Clock;
  /** How long a response is kept, from its creation. */
  readonly ttlMs: number;
}

/** A response with `store: false` that never ends is kept so long. */
const UNENDED_TTL_MS = 24 * 60 * 60_000;

/** The rows of background responses from their start to their end. */
export class BackgroundRows {
  readonly #options: BackgroundRowsOptions;

  constructor(options: BackgroundRowsOptions) {
    this.#options = options;
  }

  /** When the row of a response that starts now expires, if it does not end before. */
  expiryOf({ isStored }: BackgroundResponse): number {
    const { clock, ttlMs } = this.#options;
    return clock.now() + (isStored ? ttlMs : UNENDED_TTL_MS);
  }

  async add(
    owner: string,
    response: BackgroundResponse,
    how: { readonly lease: Lease; readonly request: SentRequest | null },
  ): Promise<void> {
    const { id, createdAt, queued } = response;
    const object: JsonObject = isJsonObject(queued) ? queued : {};
    const request = how.request === null ? {} : { request: how.request };
    await this.#options.store.responses.add(
      {
        id,
        owner,
        status: 'queued',
        isBackground: true,
        createdAt: createdAt * 1000,
        expiresAt: this.expiryOf(response),
        body: JSON.stringify(responseBody({ object, shown: [], ...request })),
      },
      how.lease,
    );
  }

  /** It waits again. False: it does not run any more. */
  async again({ owner, ...row }: ResponseRow, request: SentRequest): Promise<boolean> {
    const { object } = await runSliced(readResponse(row), null);
    const body = JSON.stringify(responseBody({ object, shown: [], request }));
    return (await this.#options.store.responses.change(owner, row.id, { status: 'queued', body })) !== null;
  }

  /** False: it does not run any more. */
  async accept(owner: string, id: string): Promise<boolean> {
    return (await this.#options.store.responses.change(owner, id, { status: 'in_progress' })) !== null;
  }

  /** False: it had ended, or is unknown. */
  async cancel(row: ResponseRow): Promise<boolean> {
    return this.#end(row, 'cancelled', null);
  }

  /** False: it had ended, or is unknown. */
  async fail(owner: string, id: string, { message }: Failure): Promise<boolean> {
    const row = await this.#options.store.responses.find(owner, id);
    // The codes of these errors are a closed list.
    return row !== null && this.#end(row, 'failed', { code: 'server_error', message });
  }

  async #end(row: ResponseRow, status: ResponseStatus, error: JsonObject | null): Promise<boolean> {
    if (!isRunning(row.status)) return false;
    const { store, clock } = this.#options;
    const { object } = await runSliced(readResponse(row), null);
    const changed = await store.responses.change(row.owner, row.id, {
      status,
      body: JSON.stringify(responseBody({ object: { ...object, status, error }, shown: [] })),
      ...(object['store'] === false ? { expiresAt: clock.now() + SHORT_TTL_MS } : {}),
    });
    return changed !== null;
  }
}
