import { gatewayError, type GatewayError } from '../../canonical/failure/failure.ts';
import { websocketError } from './feature.ts';

/** OpenAI's limits for a connection. */
const MAX_RUNNING = 16;
const MAX_NAMED = 32;
/** Creates that wait. OpenAI names no limit. */
const MAX_WAITING = 256;

export interface LaneJob {
  /** Null: the lane of requests that name none. */
  readonly lane: string | null;
  readonly bytes: number;
  run(): Promise<void>;
  /** In place of `run`: it will not run. */
  drop(): void;
}

export interface LanesOptions {
  /** For all jobs that wait. */
  readonly maxWaitingBytes: number;
  /** Counts the jobs that wait on all connections of a key. `enter` throws if they are too many. */
  readonly queue: { enter(): void; leave(): void };
  /** Nothing runs and nothing waits any more. */
  readonly onIdle: () => void;
}

/** Runs the requests of a connection: those of a lane one after the other, lanes side by side. */
export class Lanes {
  readonly #options: LanesOptions;
  readonly #named = new Set<string>();
  readonly #running = new Set<string | null>();
  /** In order of arrival. */
  readonly #waiting: LaneJob[] = [];
  #waitingBytes = 0;

  constructor(options: LanesOptions) {
    this.#options = options;
  }

  get isIdle(): boolean {
    return this.#running.size === 0 && this.#waiting.length === 0;
  }

  /** Throws if a limit is reached. */
  add(job: LaneJob): void {
    this.#name(job.lane);
    if (this.#mayRun(job)) {
      void this.#run(job);
      return;
    }
    if (this.#waiting.length >= MAX_WAITING) throw tooMany(`at most ${MAX_WAITING} are allowed`);
    const { maxWaitingBytes, queue } = this.#options;
    if (this.#waitingBytes + job.bytes > maxWaitingBytes) {
      throw tooMany(`at most ${maxWaitingBytes} bytes are allowed`);
    }
    queue.enter();
    this.#waiting.push(job);
    this.#waitingBytes += job.bytes;
  }

  /** Drops the jobs that do not run yet. */
  dropWaiting(): void {
    this.#waitingBytes = 0;
    for (const job of this.#waiting.splice(0)) {
      this.#options.queue.leave();
      job.drop();
    }
  }

  #name(lane: string | null): void {
    if (lane === null || this.#named.has(lane)) return;
    if (this.#named.size >= MAX_NAMED) {
      throw websocketError('websocket_stream_limit_reached', { param: 'stream_id' });
    }
    this.#named.add(lane);
  }

  /** A lane is free only if nothing of it waits: it runs as soon as it may. */
  #mayRun({ lane }: LaneJob): boolean {
    return this.#running.size < MAX_RUNNING && !this.#running.has(lane);
  }

  #startWaiting(): void {
    for (let at = this.#next(); at !== -1; at = this.#next()) {
      const [job] = this.#waiting.splice(at, 1);
      if (job === undefined) return;
      this.#waitingBytes -= job.bytes;
      this.#options.queue.leave();
      void this.#run(job);
    }
  }

  #next(): number {
    return this.#waiting.findIndex((job) => this.#mayRun(job));
  }

  async #run(job: LaneJob): Promise<void> {
    this.#running.add(job.lane);
    try {
      await job.run();
    } finally {
      this.#running.delete(job.lane);
      this.#startWaiting();
      if (this.isIdle) this.#options.onIdle();
    }
  }
}

const tooMany = (limit: string): GatewayError =>
  gatewayError('concurrency_limit', {
    message: `Too many requests wait on this WebSocket connection: ${limit}. Wait for responses to end.`,
  });
