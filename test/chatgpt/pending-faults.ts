import type { Fault } from './faults.ts';

export type Transport = 'http' | 'websocket';

interface Pending {
  readonly fault: Fault;
  readonly on: Transport | 'both';
  left: number;
}

/** The faults of the next model requests, in this order. */
export class PendingFaults {
  #pending: Pending[] = [];

  add(fault: Fault, times: number, on: Transport | 'both'): void {
    this.#pending.push({ fault, left: times, on });
  }

  clear(): void {
    this.#pending = [];
  }

  /** For a request on this transport, and on a socket that has served before. */
  next(transport: Transport, isReused: boolean): Fault | null {
    const pending = this.#pending.find(
      ({ fault, on }) => (on === 'both' || on === transport) && isPossible(fault, transport, isReused),
    );
    if (pending === undefined) return null;
    pending.left -= 1;
    if (pending.left <= 0) this.#pending.splice(this.#pending.indexOf(pending), 1);
    return pending.fault;
  }
}

const isPossible = ({ kind }: Fault, transport: Transport, isReused: boolean): boolean => {
  if (kind === 'duplicate-item') return isReused;
  return transport === 'websocket' || (kind !== 'close' && kind !== 'connection-limit');
};
