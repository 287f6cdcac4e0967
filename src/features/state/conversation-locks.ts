import { type GatewayError } from '../../canonical/failure/failure.ts';
import type { Ambient } from '../../kit/ambient.ts';
import { Limiter, type Permit } from '../../kit/async/limiter.ts';
import { pause } from '../../kit/async/wait.ts';
import { quoted } from '../../kit/text/display.ts';
import type { ConversationRow, StateStore } from './store/port.ts';
import type { StateAsk } from '../../turns/turn-state.ts';
import type { Chain, Chains } from './chains.ts';
import { stateError } from './failures.ts';

export interface ConversationLocksOptions {
  readonly store: Pick<StateStore, 'conversations'>;
  readonly ambient: Ambient;
  /** How long a writer waits for others. */
  readonly waitMs: number;
  /** A lock could not be renewed or given back: others may have to wait until it expires. */
  readonly onError: (error: unknown) => void;
}

/** The right to write to a conversation. */
export interface ConversationLock {
  /** The conversation when the lock was taken. */
  readonly row: ConversationRow;
  /** Idempotent. */
  readonly release: () => void;
}

export interface LockAsk {
  readonly caller: string;
  readonly signal: AbortSignal;
}

/** A lock of a process that died is free after this time. */
const LEASE_MS = 10_000;
const RENEW_MS = 3_000;
/** Writers that wait for one conversation, in this process. */
const MAX_WAITING = 200;
/** Between two attempts while another process has the lock. */
const FIRST_PAUSE_MS = 10;
const MAX_PAUSE_MS = 250;

/**
 * One writer at a time for each conversation: a queue in this process, then a lease in the store for other processes.
 * Throws `conversation_locked` if the wait takes too long.
 */
export class ConversationLocks {
  readonly #options: ConversationLocksOptions;
  readonly #queues = new Map<string, Limiter>();

  constructor(options: ConversationLocksOptions) {
    this.#options = options;
  }

  /** Throws if the conversation is unknown. */
  async take(id: string, { caller, signal }: LockAsk): Promise<ConversationLock> {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
    }, this.#options.waitMs);
    try {
      const permit = await this.#queueOf(caller, id).enter(caller, 1, signal);
      const lease = { owner: caller, id, holder: this.#options.ambient.ids.mint('lock') };
      try {
        const row = await this.#lease(lease, { signal, isLate: () => isLate });
        return { row, release: this.#kept(lease, permit) };
      } catch (error) {
        permit.leave();
        throw error;
      }
    } finally {
      clearTimeout(timer);
    }
  }

  #queueOf(caller: string, id: string): Limiter {
    const key = JSON.stringify([caller, id]);
    const known = this.#queues.get(key);
    if (known !== undefined) return known;
    const queue = new Limiter({
      capacity: 1,
      maxWaiting: MAX_WAITING,
      waitMs: this.#options.waitMs,
      clock: this.#options.ambient.clock,
      refuse: conversationLocked,
      onChange: ({ inside, waiting }) => {
        if (inside + waiting === 0) this.#queues.delete(key);
      },
    });
    this.#queues.set(key, queue);
    return queue;
  }

  async #lease(lease: LeaseOf, { signal, isLate }: Wait): Promise<ConversationRow> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      signal.throwIfAborted();
      const row = await this.#extend(lease);
      if (row === null) throw unknownConversation(lease.id);
      if (row !== false) {
        if (!signal.aborted) return row;
        await this.#free(lease);
        throw signal.reason;
      }
      if (isLate()) throw conversationLocked();
      await pause(pauseMs, signal);
    }
  }

  /** Renews the lease until it is released. */
  #kept(lease: LeaseOf, permit: Permit): () => void {
    const timer = setInterval(() => void this.#renew(lease, stop), RENEW_MS);
    const stop = (): void => clearInterval(timer);
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      stop();
      // The next writer of this process does not find the lease taken.
      void this.#free(lease).then(() => permit.leave());
    };
  }

  /** A lost lease is not taken back: nothing is lost, because turns are always added at the end. */
  async #renew(lease: LeaseOf, stop: () => void): Promise<void> {
    try {
      const row = await this.#extend(lease);
      if (row === null || row === false) stop();
    } catch (error) {
      this.#options.onError(error);
    }
  }

  #extend({ owner, id, holder }: LeaseOf): Promise<ConversationRow | false | null> {
    const until = this.#options.ambient.clock.now() + LEASE_MS;
    return this.#options.store.conversations.lock(owner, id, { holder, until });
  }

  async #free({ owner, id, holder }: LeaseOf): Promise<void> {
    try {
      await this.#options.store.conversations.unlock(owner, id, holder);
    } catch (error) {
      this.#options.onError(error);
    }
  }
}

interface Wait {
  readonly signal: AbortSignal;
  readonly isLate: () => boolean;
}

interface LeaseOf {
  readonly owner: string;
  readonly id: string;
  readonly holder: string;
}

const conversationLocked = (): GatewayError => stateError('conversation_locked', { param: 'conversation' });

/** `why`: more for the message. */
export const unknownConversation = (id: string, why = ''): GatewayError =>
  stateError('unknown_conversation', {
    message: `Conversation with id '${quoted(id)}' not found.${why}`,
  });

interface OpenedConversation {
  readonly chain: Chain;
  readonly release: () => void;
}

type ConversationAsk = Pick<StateAsk, 'caller' | 'signal' | 'onBytes' | 'isOnlyRead'>;

/** Loads a conversation and locks it, until it is released, against other writers. */
export type OpenConversation = (ask: ConversationAsk, id: string) => Promise<OpenedConversation>;

interface OpenConversationDeps {
  readonly store: Pick<StateStore, 'conversations'>;
  readonly chains: Chains;
  readonly locks: ConversationLocks;
}

export const createOpenConversation =
  ({ store, chains, locks }: OpenConversationDeps): OpenConversation =>
  async (ask, id) => {
    if (ask.isOnlyRead === true) {
      const row = await store.conversations.find(ask.caller, id);
      if (row === null) throw unknownConversation(id);
      return { chain: await chains.whole(ask.caller, row, ask), release() {} };
    }
    const { row, release } = await locks.take(id, ask);
    try {
      return { chain: await chains.whole(ask.caller, row, ask), release };
    } catch (error) {
      release();
      throw error;
    }
  };
