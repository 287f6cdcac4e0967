import type { AccessFacts } from '../../observe/access-log.ts';

/** One request and its answer, as the handlers of routes see it. */
export interface Exchange {
  readonly requestId: string;
  /** By the ambient clock. */
  readonly startedAt: number;
  /** Whether the caller is on this machine; see `isLocalCaller`. */
  readonly isLocal: boolean;
  /** Aborted when the client is gone, or the server gives up waiting at shutdown. */
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
  /** The id of the key that the caller used; empty on routes without one. */
  caller(): string;
  /** Adds to the one access line of this request. */
  note(facts: Partial<AccessFacts>): void;
  /** Says that the answer goes on after the handler returned; call the result when it has ended. */
  hold(): () => void;
  /** Called once, when the answer has ended, in whatever way. */
  atEnd(listener: () => void): void;
}

export interface ExchangeOptions {
  readonly requestId: string;
  readonly startedAt: number;
  readonly isLocal: boolean;
  readonly clientSignal: AbortSignal;
  readonly onEnd: (facts: Partial<AccessFacts>) => void;
}

/** An exchange, and the server's side of it. */
export interface OpenExchange extends Exchange {
  /** Who asks is known: the id of the key. */
  admit(keyId: string): void;
  /** The handler has returned. The exchange ends here, unless the answer is held. */
  returned(): void;
}

export const openExchange = (options: ExchangeOptions): OpenExchange => {
  const controller = new AbortController();
  const gone = (): void => controller.abort(options.clientSignal.reason);
  if (options.clientSignal.aborted) gone();
  else options.clientSignal.addEventListener('abort', gone, { once: true });
  let facts: Partial<AccessFacts> = {};
  let caller = '';
  let isHeld = false;
  let hasEnded = false;
  const listeners: (() => void)[] = [];
  const end = (): void => {
    if (hasEnded) return;
    hasEnded = true;
    options.clientSignal.removeEventListener('abort', gone);
    for (const listener of listeners) listener();
    options.onEnd(facts);
  };
  return {
    requestId: options.requestId,
    startedAt: options.startedAt,
    isLocal: options.isLocal,
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    caller: () => caller,
    admit(keyId) {
      caller = keyId;
      facts = { ...facts, keyId };
    },
    note(more) {
      facts = { ...facts, ...more };
    },
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
