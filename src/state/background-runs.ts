import { runSliced } from '../kit/async/event-loop.ts';
import { within } from '../kit/async/within.ts';
import type { OnChange, ResponseRow, Store } from '../store/store.ts';
import type { DetachedRun } from '../turns/run.ts';
import {
  BackgroundRun,
  interrupted,
  type BackgroundRunDeps,
  type BackgroundRunOptions,
} from './background-run.ts';
import { Leases } from './leases.ts';
import { SHORT_TTL_MS } from './record-response.ts';
import { isRunning, readResponse, type StoredRequest } from './stored-response.ts';

export interface BackgroundRunsOptions extends Omit<BackgroundRunDeps, 'store'> {
  readonly store: Pick<Store, 'events' | 'responses' | 'watch'>;
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
  readonly request: StoredRequest;
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
  add({ owner, response }: BackgroundRun, request: StoredRequest | null): Promise<void> {
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
