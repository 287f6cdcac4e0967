import type { Clock } from '../../../../kit/ambient.ts';
import { forgetOldest } from '../../../../kit/collections/recent.ts';
import { isNew, type BackendSocket, type SocketListener } from './backend-socket.ts';
import { DialError, type Dial } from './dial.ts';
import type { DialPacing } from './dial-pacing.ts';
import { IdleSockets, isOld } from './idle-sockets.ts';

/** The URL and login of a socket. */
export interface SocketTarget {
  readonly url: string;
  /** Of the upgrade. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface PoolOptions {
  readonly dial: Dial;
  readonly pacing: DialPacing;
  readonly clock: Clock;
  readonly onChange: (idle: number, busy: number) => void;
  /** A request got a socket that was idle, or had to wait for one. */
  readonly onLent: (socket: 'idle' | 'dialled') => void;
}

/** Why there is no socket for a request. */
export type NoSocket = 'upgrade-refused' | 'dial-paused' | 'pool-full' | 'old-login';

export interface SocketWish {
  readonly isFresh: boolean;
  /** Waits and dials even if a POST would be quicker: there is no other transport. */
  readonly insists: boolean;
  readonly signal: AbortSignal;
}

/** A socket, or why there is none; `error` if a dial failed for this request. */
export type Lent =
  | { readonly socket: BackendSocket }
  | { readonly socket: null; readonly why: NoSocket; readonly error: DialError | null };

const MAX_SOCKETS = 48;
const UPKEEP_MS = 25_000;
/** Without a request for this long no socket is kept. */
const QUIET_MS = 30 * 60_000;
const MAX_OLD_LOGINS = 32;

/** A request without a socket. */
interface Waiter {
  readonly lent: Promise<Lent>;
  readonly isOver: boolean;
  readonly take: (lent: Lent) => void;
}

/** The sockets of one login. */
export class SocketPool {
  readonly #options: PoolOptions;
  readonly #idle: IdleSockets;
  readonly #busy = new Set<BackendSocket>();
  /** The login of each socket. */
  readonly #loginOf = new WeakMap<BackendSocket, string>();
  readonly #waiters = new Set<Waiter>();
  readonly #oldLogins = new Set<string>();
  readonly #closed = new AbortController();
  #target: SocketTarget | null = null;
  #login: string | null = null;
  #usedAt = 0;
  /** Dials in progress: all, and by login those that requests may wait for. */
  #dialling = 0;
  #shared: { dials: number } = { dials: 0 };
  #spareTimer: NodeJS.Timeout | null = null;
  #upkeepTimer: NodeJS.Timeout | null = null;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#idle = new IdleSockets({ clock: options.clock, onGone: (socket) => this.#gone(socket) });
  }

  /** Opens a spare socket for this login, if there is none. */
  warm(target: SocketTarget): void {
    this.#know(target);
    this.#ensureSpare();
  }

  async lend(target: SocketTarget, { isFresh, insists, signal }: SocketWish): Promise<Lent> {
    const isCurrent = this.#know(target);
    if (isCurrent) this.#usedAt = this.#options.clock.now();
    if (!isCurrent && !insists) return none('old-login');
    try {
      const idle = isFresh || !isCurrent ? null : this.#idle.take();
      if (idle !== null) return this.#lent(idle, 'idle');
      if (this.#options.pacing.hasFailed && !insists) return none('dial-paused');
      const isFull = this.#count >= MAX_SOCKETS;
      if (isFull && !insists) return none('pool-full');
      return await (isFresh || !isCurrent ? this.#dialFor(target, signal) : this.#wait(signal, isFull));
    } finally {
      this.#ensureSpare();
    }
  }

  /** Takes a socket back, or drops it. */
  release(socket: BackendSocket, isReusable: boolean): void {
    this.#busy.delete(socket);
    if (isReusable) {
      this.#options.pacing.served();
      this.#offer(socket);
    } else socket.close();
    this.#ensureSpare();
    this.#changed();
  }

  /** A new socket was closed at its first use, which is like a rejected upgrade. */
  rejected(): void {
    this.#options.pacing.failed(null);
  }

  close(): void {
    this.#closed.abort();
    if (this.#spareTimer !== null) clearTimeout(this.#spareTimer);
    if (this.#upkeepTimer !== null) clearInterval(this.#upkeepTimer);
    this.#idle.close();
    for (const socket of this.#busy) socket.close();
  }

  get #count(): number {
    return this.#idle.count + this.#busy.size + this.#dialling;
  }

  /** Whether the target has the current login: that of the newest request. */
  #know(target: SocketTarget): boolean {
    const login = loginOf(target);
    if (this.#oldLogins.has(login)) return false;
    if (login !== this.#login) {
      if (this.#login !== null) this.#oldLogins.add(this.#login);
      forgetOldest(this.#oldLogins, MAX_OLD_LOGINS);
      this.#idle.close();
      for (const { take } of this.#waiters) take(none('old-login'));
      this.#shared = { dials: 0 };
      this.#login = login;
      this.#options.pacing.loginChanged();
      this.#usedAt = this.#options.clock.now();
    }
    this.#target = target;
    return true;
  }

  #lent(socket: BackendSocket, kind: 'idle' | 'dialled' = 'dialled'): Lent {
    socket.uses += 1;
    this.#options.onLent(kind);
    this.#busy.add(socket);
    this.#changed();
    return { socket };
  }

  /** A new socket, for this request only. */
  #dialFor(target: SocketTarget, signal: AbortSignal): Promise<Lent> {
    const waiting = this.#waitingOn(signal);
    this.#dial(target).then(
      (socket) => (waiting.isOver ? this.#offer(socket) : waiting.take(this.#lent(socket))),
      (error: unknown) => waiting.take(refused(error)),
    );
    return waiting.lent;
  }

  /** The next socket that is opened or returned. */
  #wait(signal: AbortSignal, isFull: boolean): Promise<Lent> {
    const waiting = this.#waitingOn(signal);
    if (!waiting.isOver) this.#waiters.add(waiting);
    if (!isFull && this.#shared.dials < this.#waiters.size) void this.#dialShared();
    return waiting.lent;
  }

  #waitingOn(signal: AbortSignal): Waiter {
    const { promise: lent, resolve } = Promise.withResolvers<Lent>();
    const leave = (): void => waiter.take(none('pool-full'));
    const waiter = {
      lent,
      isOver: false,
      take: (taken: Lent): void => {
        waiter.isOver = true;
        this.#waiters.delete(waiter);
        signal.removeEventListener('abort', leave);
        resolve(taken);
      },
    };
    signal.addEventListener('abort', leave);
    if (signal.aborted) leave();
    return waiter;
  }

  async #dialShared(): Promise<void> {
    const [target, shared] = [this.#target, this.#shared];
    if (target === null) return;
    shared.dials += 1;
    const isOpen = await this.#dial(target).then((socket) => this.#offer(socket), refused);
    shared.dials -= 1;
    if (shared !== this.#shared) return;
    // All of them go another way at once.
    if (isOpen !== true)
      for (const { take } of this.#waiters) take(isOpen === false ? none('upgrade-refused') : isOpen);
    this.#ensureSpare();
    this.#changed();
  }

  async #dial(target: SocketTarget): Promise<BackendSocket> {
    const { dial, pacing } = this.#options;
    this.#dialling += 1;
    this.#startUpkeep();
    try {
      const socket = await dial(target.url, target.headers, IGNORES, this.#closed.signal);
      this.#loginOf.set(socket, loginOf(target));
      pacing.succeeded();
      return socket;
    } catch (error) {
      const status = error instanceof DialError ? error.status : null;
      // The old login says nothing about the current one.
      if (status !== 401 || loginOf(target) === this.#login) pacing.failed(status);
      throw error;
    } finally {
      this.#dialling -= 1;
    }
  }

  /** Gives a free socket to a request that waits, or keeps it. False: it is not usable. */
  #offer(socket: BackendSocket): boolean {
    const isOurs = this.#loginOf.get(socket) === this.#login && !this.#closed.signal.aborted;
    if (!isOurs || !socket.isOpen || isOld(socket, this.#options.clock.now())) {
      socket.close();
      return false;
    }
    const [waiter] = this.#waiters;
    if (waiter === undefined) this.#idle.add(socket);
    else waiter.take(this.#lent(socket));
    return true;
  }

  #gone(socket: BackendSocket): void {
    const { clock, pacing } = this.#options;
    if (socket.uses === 0 && isNew(socket, clock.now())) pacing.spareLost();
    this.#changed();
    this.#ensureSpare();
  }

  /** Dials one socket ahead, soon, if a request would have to wait for one. */
  #ensureSpare(): void {
    const { pacing } = this.#options;
    if (this.#spareTimer !== null || !this.#needsSpare()) return;
    this.#spareTimer = setTimeout(() => {
      this.#spareTimer = null;
      // The pause may have become longer meanwhile.
      if (pacing.spareDelayMs > 0) this.#ensureSpare();
      else if (this.#needsSpare()) {
        pacing.spareStarted();
        void this.#dialShared();
      }
    }, pacing.spareDelayMs).unref();
  }

  #needsSpare(): boolean {
    const isReady = this.#idle.count > 0 || this.#shared.dials > this.#waiters.size;
    return (
      this.#target !== null &&
      !isReady &&
      !this.#isQuiet &&
      this.#count < MAX_SOCKETS &&
      !this.#closed.signal.aborted
    );
  }

  #startUpkeep(): void {
    this.#upkeepTimer ??= setInterval(() => this.#upkeep(), UPKEEP_MS).unref();
  }

  #upkeep(): void {
    this.#idle.upkeep(this.#isQuiet);
    this.#ensureSpare();
    this.#changed();
  }

  get #isQuiet(): boolean {
    return this.#options.clock.now() - this.#usedAt >= QUIET_MS;
  }

  #changed(): void {
    this.#options.onChange(this.#idle.count, this.#busy.size);
  }
}

/** For a socket that is not yet in the pool, or no longer. */
const IGNORES: SocketListener = { onText() {}, onPing() {}, onClose() {} };

const none = (why: NoSocket): Lent => ({ socket: null, why, error: null });

const refused = (error: unknown): Lent => ({
  socket: null,
  why: 'upgrade-refused',
  error: error instanceof DialError ? error : new DialError(null, 'error'),
});

const loginOf = ({ url, headers }: SocketTarget): string =>
  JSON.stringify([url, headers['authorization'], headers['chatgpt-account-id']]);
