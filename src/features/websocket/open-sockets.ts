import { gatewayError } from '../../canonical/failure/failure.ts';
import type { Clock } from '../../kit/ambient.ts';
import { Limiter } from '../../kit/async/limiter.ts';
import { CLOSE, type Connection } from './connection.ts';

/** What is needed to choose one that has to make room. */
type OpenSocket = Pick<Connection, 'caller' | 'idleSince' | 'close' | 'giveWay'>;

export interface OpenSocketsOptions {
  readonly max: number;
  /** Whether the last place is for this key, too. */
  readonly isAdmin: (caller: string) => boolean;
  readonly clock: Clock;
  readonly onChange: (open: number) => void;
}

/** The place of a WebSocket that is not open yet. */
export interface SocketPlace<Socket> {
  open(socket: Socket): void;
  /** In place of `open`. */
  giveUp(): void;
}

/** Requests that wait on all connections of a key. */
const MAX_WAITING_PER_KEY = 1_024;
const RETRY_SECONDS = 5;
/** For a connection of another key to end what it does. Clients wait longer for a connection. */
const WAIT_MS = 10_000;

/** The open WebSockets, and their limits: fair between keys. */
export class OpenSockets<Socket extends OpenSocket> {
  readonly #onChange: (open: number) => void;
  readonly #places: Limiter;
  readonly #all = new Map<Socket, () => void>();
  readonly #waiting = new Map<string, number>();

  constructor({ max, isAdmin, clock, onChange }: OpenSocketsOptions) {
    this.#onChange = onChange;
    this.#places = new Limiter({
      capacity: max,
      isAdmin,
      maxWaiting: max,
      waitMs: WAIT_MS,
      onlyShareWaits: true,
      clock,
      onChange() {},
      refuse: () =>
        gatewayError('server_overloaded', {
          message: `This server has ${max} open WebSocket connections, and accepts no more. Please try again later.`,
          retryAfterSeconds: RETRY_SECONDS,
        }),
    });
  }

  /**
   * A place for another WebSocket of this key. If there is none, the longest idle one of the key with the most has to go.
   * If all of those are busy, one of them ends after what it does, and this waits for it. Rejects if the key has its share
   * already, or has waited too long.
   */
  async reserve(caller: string, signal: AbortSignal): Promise<SocketPlace<Socket>> {
    let socket: Socket | null = null;
    let isUnwanted = false;
    const permit = await this.#places.enter(caller, 1, signal, {
      yielding: {
        rank: () => socket?.idleSince ?? null,
        giveWay: () => {
          isUnwanted = true;
          return socket !== null && this.#giveWay(socket);
        },
      },
    });
    return {
      open: (opened) => {
        socket = opened;
        this.#all.set(opened, () => permit.leave());
        this.#onChange(this.#all.size);
        if (isUnwanted) opened.giveWay();
      },
      giveUp: () => permit.leave(),
    };
  }

  get size(): number {
    return this.#all.size;
  }

  delete(socket: Socket): void {
    this.#all.get(socket)?.();
    this.#all.delete(socket);
    this.#onChange(this.#all.size);
  }

  [Symbol.iterator](): IterableIterator<Socket> {
    return this.#all.keys();
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

  /** Whether its place is free now. */
  #giveWay(socket: Socket): boolean {
    if (socket.idleSince === null) {
      socket.giveWay();
      return false;
    }
    this.#all.delete(socket);
    this.#onChange(this.#all.size);
    socket.close(CLOSE.tryAgainLater, 'The connection was idle, and another client needs it.');
    return true;
  }
}
