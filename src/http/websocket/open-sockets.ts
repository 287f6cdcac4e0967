import { gatewayError } from '../../canonical/failure/failure.ts';
import { CLOSE } from './close-codes.ts';
import type { Connection } from './connection.ts';

/** What is needed to choose one that has to make room. */
type OpenSocket = Pick<Connection, 'caller' | 'idleSince' | 'close'>;

/** Requests that wait on all connections of a key. */
const MAX_WAITING_PER_KEY = 1_024;
const RETRY_SECONDS = 5;

/** The open WebSockets, and their limits: fair between keys. */
export class OpenSockets<Socket extends OpenSocket> {
  readonly #max: number;
  readonly #onChange: (open: number) => void;
  readonly #all = new Set<Socket>();
  /** The keys of upgrades that were accepted and are not complete. */
  readonly #opening: string[] = [];
  readonly #waiting = new Map<string, number>();

  constructor(max: number, onChange: (open: number) => void) {
    this.#max = max;
    this.#onChange = onChange;
  }

  /**
   * Makes room for another WebSocket of this key. If there is none, the longest idle one of the key with the most has to
   * go, unless this key has its share already. Throws if there is no room. Call the result when it is open, or will not
   * be.
   */
  reserve(caller: string): () => void {
    if (this.#all.size + this.#opening.length >= this.#max) this.#makeRoom(caller);
    this.#opening.push(caller);
    return () => void this.#opening.splice(this.#opening.indexOf(caller), 1);
  }

  get size(): number {
    return this.#all.size;
  }

  add(socket: Socket): void {
    this.#all.add(socket);
    this.#onChange(this.#all.size);
  }

  delete(socket: Socket): void {
    this.#all.delete(socket);
    this.#onChange(this.#all.size);
  }

  [Symbol.iterator](): IterableIterator<Socket> {
    return this.#all.values();
  }

  /** Counts the waiting requests of a key; see `LanesOptions`. */
  queueOf(caller: string): { enter(): void; leave(): void } {
    const change = (by: number): void => {
      const count = (this.#waiting.get(caller) ?? 0) + by;
      if (count === 0) this.#waiting.delete(caller);
      else this.#waiting.set(caller, count);
    };
    return {
      enter: () => {
        if ((this.#waiting.get(caller) ?? 0) >= MAX_WAITING_PER_KEY) {
          throw gatewayError('concurrency_limit', { retryAfterSeconds: RETRY_SECONDS });
        }
        change(1);
      },
      leave: () => change(-1),
    };
  }

  #makeRoom(caller: string): void {
    const counts = new Map([[caller, 0]]);
    const callers = [...this.#opening, ...[...this.#all].map((socket) => socket.caller)];
    for (const one of callers) counts.set(one, (counts.get(one) ?? 0) + 1);
    const largest = [...counts].reduce((most, one) => (one[1] > most[1] ? one : most));
    const isBelowShare = (counts.get(caller) ?? 0) < Math.floor(this.#max / counts.size);
    const leaving = isBelowShare ? this.#longestIdle(largest[0]) : null;
    if (leaving === null) {
      throw gatewayError('server_overloaded', {
        message: `This server has ${this.#max} open WebSocket connections, and accepts no more. Please try again later.`,
        retryAfterSeconds: RETRY_SECONDS,
      });
    }
    this.delete(leaving);
    leaving.close(CLOSE.tryAgainLater, 'The connection was idle, and another client needs it.');
  }

  #longestIdle(caller: string): Socket | null {
    let longest: Socket | null = null;
    for (const socket of this.#all) {
      if (socket.caller !== caller || socket.idleSince === null) continue;
      if (longest?.idleSince == null || socket.idleSince < longest.idleSince) longest = socket;
    }
    return longest;
  }
}
