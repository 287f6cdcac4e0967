import type { DistributedTrace } from '../../canonical/context/trace.ts';
import type { Caller } from '../guards/scopes.ts';
import type { RequestNotes } from '../../observe/request-end.ts';

/** One request and its answer, as route handlers see it. */
export interface Exchange {
  readonly requestId: string;
  /** From the ambient clock. */
  readonly startedAt: number;
  /** The address of the peer, which may be a reverse proxy; empty if it is unknown. */
  readonly address: string;
  /** Whether the caller is on this machine; see `isLocalCaller`. */
  isLocal(): boolean;
  /** The same, also for a page of this server in a browser; see `isOnThisMachine`. */
  isOnThisMachine(): boolean;
  /** The address and port at which a program on this machine reached this server; null: the caller is another one. */
  reachedAt(): string | null;
  /** Aborted when the client disconnects, or when a shutdown no longer waits. */
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
  /** The id of the caller's key; empty on routes without one. */
  caller(): string;
  /** Null on routes without a key. */
  identity(): Caller | null;
  /** Null: the request is in no distributed trace, or only its client knows of it. */
  readonly distributed: DistributedTrace | null;
  /** Adds to what is known about this request. */
  note(notes: RequestNotes): void;
  /** Keeps the exchange open after the handler has returned; call the result when the answer has ended. */
  hold(): () => void;
  /** Called once when the answer has ended or was cut off. */
  atEnd(listener: () => void): void;
}

export interface ExchangeOptions {
  readonly requestId: string;
  readonly startedAt: number;
  readonly address: string;
  readonly isLocal: () => boolean;
  /** Absent: no. */
  readonly isOnThisMachine?: () => boolean;
  /** Absent: unknown. */
  readonly reachedAt?: () => string | null;
  readonly clientSignal: AbortSignal;
  readonly distributed: DistributedTrace | null;
  readonly onNote: (notes: RequestNotes) => void;
  readonly onEnd: (notes: RequestNotes) => void;
}

/** An exchange with the server's methods. */
export interface OpenExchange extends Exchange {
  /** The caller is authenticated. */
  admit(caller: Caller): void;
  /** The handler has returned. The exchange ends here, unless the answer is held. */
  returned(): void;
}

export const openExchange = (options: ExchangeOptions): OpenExchange => {
  const controller = new AbortController();
  const gone = (): void => controller.abort(options.clientSignal.reason);
  if (options.clientSignal.aborted) gone();
  else options.clientSignal.addEventListener('abort', gone, { once: true });
  let notes: RequestNotes = {};
  let identity: Caller | null = null;
  let isHeld = false;
  let hasEnded = false;
  const note = (more: RequestNotes): void => {
    notes = { ...notes, ...more };
    options.onNote(more);
  };
  const listeners: (() => void)[] = [];
  const end = (): void => {
    if (hasEnded) return;
    hasEnded = true;
    options.clientSignal.removeEventListener('abort', gone);
    for (const listener of listeners) listener();
    options.onEnd(notes);
  };
  return {
    requestId: options.requestId,
    startedAt: options.startedAt,
    address: options.address,
    isLocal: options.isLocal,
    isOnThisMachine: () => options.isOnThisMachine?.() ?? false,
    reachedAt: () => options.reachedAt?.() ?? null,
    signal: controller.signal,
    distributed: options.distributed,
    abort: (reason) => controller.abort(reason),
    caller: () => identity?.keyId ?? '',
    identity: () => identity,
    admit(caller) {
      identity = caller;
      note({ keyId: caller.keyId });
    },
    note,
    hold() {
      isHeld = true;
      return end;
    },
    atEnd(listener) {
      if (hasEnded) listener();
      else listeners.push(listener);
    },
    returned() {
      if (!isHeld) end();
    },
  };
};
