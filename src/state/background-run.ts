import { failure, failureOf, type Failure } from '../canonical/failure/failure.ts';
import type { Clock } from '../kit/ambient.ts';
import { within } from '../kit/async/within.ts';
import type { JsonObject } from '../kit/json/json.ts';
import type { Store } from '../store/store.ts';
import type { BackgroundResponse, Frame } from '../turns/api.ts';
import type { DetachedRun } from '../turns/run.ts';
import type { TurnState } from '../turns/turn-state.ts';
import type { BackgroundRows } from './background-rows.ts';
import type { EventLog } from './event-log.ts';
import { ResponseGone, SHORT_TTL_MS } from './record-response.ts';
import type { ResponseEvents } from './response-events.ts';

export interface BackgroundRunDeps {
  readonly store: Pick<Store, 'events' | 'responses'>;
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

export interface BackgroundRunOptions {
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
export type StopReason = 'cancelled' | 'gone' | 'interrupted' | 'left';

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

export const interrupted = (): Failure =>
  failure('server_error', {
    message: 'The response was interrupted because the server that ran it has stopped. Please send it again.',
  });
