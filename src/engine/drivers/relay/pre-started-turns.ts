import type { AppServer } from '../../../codex/app-server.ts';
import type { WorkerLease } from '../../../codex/worker/supervisor.ts';
import type { Clock } from '../../../kit/ambient.ts';
import { within } from '../../../kit/async/wait.ts';
import { forgetOldest } from '../../../kit/collections/recent.ts';
import { closeTurn } from '../../attempt/app-server-turn.ts';
import { Carrier, type CarrierThread } from './carrier.ts';

const MAX_THREADS = 32;

interface IdleThread {
  readonly thread: CarrierThread;
  readonly sinceMs: number;
  unwatch: () => void;
}

/** The threads of one worker that have completed a turn and can carry another one of the same caller. */
export class IdleThreads {
  readonly #appServer: AppServer;
  readonly #onChange: () => void;
  /** The oldest first. */
  #threads: readonly IdleThread[] = [];

  constructor(appServer: AppServer, onChange: () => void) {
    this.#appServer = appServer;
    this.#onChange = onChange;
  }

  get size(): number {
    return this.#threads.length;
  }

  add(thread: CarrierThread, nowMs: number): void {
    const added: IdleThread = { thread, sinceMs: nowMs, unwatch: () => {} };
    this.#threads = [...this.#threads, added];
    // A connection that has ended reports that at once.
    added.unwatch = this.#appServer.watchThread(thread.threadId, ({ kind }) => {
      if (kind === 'closed') this.#keep((one) => one !== added);
    });
    if (this.size > MAX_THREADS) this.closeWhere((_, at) => at === 0);
    this.#onChange();
  }

  /** The one that was used last. */
  take(slug: string, caller: string): CarrierThread | null {
    const found = this.#threads.findLast(({ thread }) => thread.slug === slug && thread.caller === caller);
    if (found === undefined) return null;
    found.unwatch();
    this.#keep((one) => one !== found);
    return found.thread;
  }

  closeOlderThan(timeMs: number): void {
    this.closeWhere(({ sinceMs }) => sinceMs < timeMs);
  }

  closeWhere(isClosed: (one: IdleThread, at: number) => boolean): void {
    for (const { thread, unwatch } of this.#threads.filter(isClosed)) {
      unwatch();
      void closeTurn(this.#appServer, null, thread.threadId);
    }
    this.#keep((one, at) => !isClosed(one, at));
  }

  #keep(isKept: (one: IdleThread, at: number) => boolean): void {
    this.#threads = this.#threads.filter(isKept);
    this.#onChange();
  }
}

/** As long as a kind counts as in use after its last request. */
const IN_USE_MS = 30 * 60_000;
/** The number of requests at once is remembered for this long. */
const PEAK_MS = 60_000;
/** Kinds that are prepared on a new worker. */
const MAX_WARMED = 4;
/** Bounded by the model catalogue anyway. */
const MAX_KINDS = 256;

interface Kind {
  running: number;
  /** Most requests at once in the last minute. */
  peak: number;
  peakAtMs: number;
  usedAtMs: number;
}

/** Which entries of the model catalogue are in use, and by how many requests at once. */
export class RecentKinds {
  readonly #clock: Clock;
  /** In order of last use. */
  readonly #kinds = new Map<string, Kind>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether there was no request yet. */
  get isEmpty(): boolean {
    return this.#kinds.size === 0;
  }

  began(slug: string): void {
    const now = this.#clock.now();
    const kind = this.#kinds.get(slug) ?? { running: 0, peak: 0, peakAtMs: now, usedAtMs: now };
    kind.running += 1;
    kind.usedAtMs = now;
    if (kind.running >= kind.peak || now - kind.peakAtMs > PEAK_MS) {
      kind.peak = kind.running;
      kind.peakAtMs = now;
    }
    this.#kinds.delete(slug);
    this.#kinds.set(slug, kind);
    forgetOldest(this.#kinds, MAX_KINDS);
  }

  ended(slug: string): void {
    const kind = this.#kinds.get(slug);
    if (kind !== undefined) kind.running = Math.max(0, kind.running - 1);
  }

  /** How many requests may come at once. */
  wanted(slug: string): number {
    const kind = this.#kinds.get(slug);
    if (kind === undefined) return 1;
    const isRecent = this.#clock.now() - kind.peakAtMs <= PEAK_MS;
    return Math.max(1, kind.running, isRecent ? kind.peak : 0);
  }

  isInUse(slug: string): boolean {
    const kind = this.#kinds.get(slug);
    return kind !== undefined && this.#clock.now() - kind.usedAtMs < IN_USE_MS;
  }

  /** The kinds in use, the latest first. */
  inUse(): readonly string[] {
    return [...this.#kinds.keys()]
      .toReversed()
      .filter((slug) => this.isInUse(slug))
      .slice(0, MAX_WARMED);
  }
}

/** What becomes of a pre-started turn, for metrics. */
export type PreStartedFate =
  /** It carried a request. */
  | 'used'
  /** It was too old, or its credentials were about to expire. */
  | 'expired'
  /** It could not be started, or ended before it was used. */
  | 'failed'
  /** Others were more useful. */
  | 'dropped';

export interface PreStartRules {
  /** Most pre-started turns for one entry of the model catalogue; 0: none. */
  readonly max: number;
  /** The kind of the first request, if it can be guessed. */
  readonly expected: () => string | null;
  readonly onEnd: (fate: PreStartedFate) => void;
  /** A request found none, and started its own. */
  readonly onMiss: () => void;
  /** The number of turns that wait, and of threads without a turn. */
  readonly onChange: (waiting: number, idleThreads: number) => void;
}

export interface PreStartedTurnsOptions extends PreStartRules {
  readonly clock: Clock;
  /** Starts a turn; `thread`: in a thread that has carried others, null: in a new one. */
  readonly start: (appServer: AppServer, slug: string, thread: CarrierThread | null) => Promise<Carrier>;
}

/** The app-server and the login may change; and a request that is held longer was never tried. */
const MAX_AGE_MS = 5 * 60_000;
/** Credentials that expire sooner are not used. */
const EXPIRY_MARGIN_MS = 60_000;
/** For each worker, over all models and callers. */
const MAX_WAITING = 32;
/** How long a new worker may prepare turns before it takes over. */
const WARM_WITHIN_MS = 2_000;

/** A turn that waits for a request, or is being started. */
interface WaitingTurn {
  readonly slug: string;
  /** Set if its thread has carried turns of this caller: it is for no other. */
  readonly caller: string | null;
  readonly at: number;
  /** Null: it could not be started. */
  readonly starting: Promise<Carrier | null>;
  carrier: Carrier | null;
  isTaken: boolean;
}

/** What waits on one worker. */
interface WorkerTurns {
  waiting: WaitingTurn[];
  readonly idle: IdleThreads;
  isCurrent: () => boolean;
}

/**
 * Starts turns before they are needed. Their model requests wait in the relay, so a request that takes one does not
 * wait for the app-server. A turn contains nothing of a client: only its catalogue entry distinguishes it.
 */
export class PreStartedTurns {
  readonly #options: PreStartedTurnsOptions;
  readonly #kinds: RecentKinds;
  readonly #workers = new Map<AppServer, WorkerTurns>();

  constructor(options: PreStartedTurnsOptions) {
    this.#options = options;
    this.#kinds = new RecentKinds(options.clock);
  }

  /**
   * A turn for a request of this caller; without one, a thread that can carry it; null: neither. `ended` must follow.
   */
  async take(lease: WorkerLease, slug: string, caller: string): Promise<Carrier | CarrierThread | null> {
    this.#kinds.began(slug);
    const prepared = this.#of(lease);
    for (let next = pick(prepared, slug, caller); next !== null; next = pick(prepared, slug, caller)) {
      this.#remove(prepared, next);
      next.isTaken = true;
      const carrier = next.carrier ?? (await next.starting);
      if (carrier === null) {
        this.#options.onEnd('failed');
        continue;
      }
      if (this.#isFresh(carrier, next.at)) {
        this.#options.onEnd('used');
        return carrier;
      }
      this.#discard(carrier, carrier.isUsable ? 'expired' : 'failed');
    }
    if (this.#options.max > 0) this.#options.onMiss();
    return prepared.idle.take(slug, caller);
  }

  /** A request of this kind is being answered: others may follow. */
  prepare(lease: WorkerLease, slug: string, caller: string): void {
    if (this.#options.max === 0 || !lease.isCurrent()) return;
    const prepared = this.#of(lease);
    const isFor = (one: WaitingTurn): boolean => one.slug === slug && isForCaller(one, caller);
    const wanted = this.#wanted(slug);
    for (let have = prepared.waiting.filter(isFor).length; have < wanted; have += 1) {
      const isFull = prepared.waiting.length >= MAX_WAITING;
      if (isFull) {
        // With many callers those that were kept for one each are rarely used again: new ones, for anyone, are.
        const kept = keptFor(prepared, (owner) => owner !== caller);
        // Kinds in use at the same time must not drop each other's: only one that has none gets a place.
        if (kept === undefined && have > 0) return;
        this.#drop(prepared, kept ?? prepared.waiting[0]);
      }
      this.#startOne(lease.appServer, prepared, slug, isFull ? null : prepared.idle.take(slug, caller));
    }
  }

  /** A request has ended. `kept`: its turn can carry another request of its caller, or its thread another turn. */
  ended(lease: WorkerLease, slug: string, kept: Carrier | CarrierThread | null): void {
    this.#kinds.ended(slug);
    if (kept === null) return;
    const prepared = this.#of(lease);
    if (kept instanceof Carrier) {
      if (lease.isCurrent()) this.#keep(prepared, slug, kept);
      else void kept.end({ isComplete: false, usage: null });
      return;
    }
    prepared.idle.add(kept, this.#options.clock.now());
    if (!lease.isCurrent()) prepared.idle.closeWhere(() => true);
  }

  #keep(prepared: WorkerTurns, slug: string, carrier: Carrier): void {
    // Those in use come back again and again: the one that waits longest is the least useful.
    if (prepared.waiting.length >= MAX_WAITING)
      this.#drop(prepared, keptFor(prepared, () => true) ?? prepared.waiting[0]);
    const one: WaitingTurn = {
      slug,
      caller: carrier.thread.caller,
      at: this.#options.clock.now(),
      starting: Promise.resolve(carrier),
      carrier,
      isTaken: false,
    };
    prepared.waiting.push(one);
    carrier.whenOver(() => this.#drop(prepared, one, 'failed'));
    this.#changed();
  }

  /** Starts turns of the kinds in use on a worker that is about to take over. */
  async warm(appServer: AppServer): Promise<void> {
    const kinds = this.#options.max === 0 ? [] : this.#kindsToWarm();
    if (kinds.length === 0) return;
    // Until its first lease, which is the first to know.
    const prepared = this.#add(appServer, () => prepared.waiting.length > 0);
    for (const slug of kinds) this.#startOne(appServer, prepared, slug, null);
    await within(Promise.all(prepared.waiting.map(({ starting }) => starting)), WARM_WITHIN_MS);
  }

  /** Before the first request, the kind that it will probably have. */
  #kindsToWarm(): readonly string[] {
    const inUse = this.#kinds.inUse();
    const expected = this.#kinds.isEmpty ? this.#options.expected() : null;
    return expected === null ? inUse : [expected];
  }

  /** Replaces turns that have waited too long, and closes threads that were not used. */
  refresh(): void {
    const now = this.#options.clock.now();
    for (const [appServer, prepared] of this.#workers) {
      const isCurrent = prepared.isCurrent();
      const isStale = ({ carrier, at }: WaitingTurn): boolean =>
        carrier !== null && !this.#isFresh(carrier, at);
      const dropped = prepared.waiting.filter((one) => !isCurrent || isStale(one));
      for (const one of dropped) this.#drop(prepared, one, isCurrent ? 'expired' : 'dropped');
      prepared.idle.closeOlderThan(isCurrent ? now - MAX_AGE_MS : Infinity);
      if (isCurrent) this.#replace(appServer, prepared, new Set(dropped.map(({ slug }) => slug)));
      else this.#workers.delete(appServer);
    }
    this.#changed();
  }

  /** As many as are useful now, which may be fewer than before. */
  #replace(appServer: AppServer, prepared: WorkerTurns, slugs: ReadonlySet<string>): void {
    for (const slug of [...slugs].filter((one) => this.#kinds.isInUse(one))) {
      const have = prepared.waiting.filter((one) => one.slug === slug).length;
      for (let more = have; more < this.#wanted(slug); more += 1)
        this.#startOne(appServer, prepared, slug, null);
    }
  }

  #wanted(slug: string): number {
    return Math.min(this.#options.max, this.#kinds.wanted(slug));
  }

  #startOne(appServer: AppServer, prepared: WorkerTurns, slug: string, thread: CarrierThread | null): void {
    const starting = this.#options.start(appServer, slug, thread).then(
      (carrier) => {
        one.carrier = carrier;
        // The worker has exited, or codex did something else: a request must not get it.
        carrier.whenOver(() => this.#drop(prepared, one, 'failed'));
        return carrier;
      },
      // A request that needs a turn starts one itself, and reports the error.
      () => {
        this.#drop(prepared, one, 'failed');
        return null;
      },
    );
    const { caller = null } = thread ?? {};
    const one: WaitingTurn = {
      slug,
      caller,
      at: this.#options.clock.now(),
      starting,
      carrier: null,
      isTaken: false,
    };
    prepared.waiting.push(one);
    this.#changed();
  }

  #drop(prepared: WorkerTurns, one: WaitingTurn | undefined, fate: PreStartedFate = 'dropped'): void {
    if (one === undefined || one.isTaken) return;
    one.isTaken = true;
    this.#remove(prepared, one);
    void this.#discardStarted(one, fate);
  }

  async #discardStarted({ starting }: WaitingTurn, fate: PreStartedFate): Promise<void> {
    const carrier = await starting;
    if (carrier === null) this.#options.onEnd(fate);
    else this.#discard(carrier, fate);
  }

  #discard(carrier: Carrier, fate: PreStartedFate): void {
    this.#options.onEnd(fate);
    void carrier.end({ isComplete: false, usage: null });
  }

  #remove(prepared: WorkerTurns, one: WaitingTurn): void {
    prepared.waiting = prepared.waiting.filter((other) => other !== one);
    this.#changed();
  }

  #changed(): void {
    const all = [...this.#workers.values()];
    const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);
    this.#options.onChange(
      sum(all.map(({ waiting }) => waiting.length)),
      sum(all.map(({ idle }) => idle.size)),
    );
  }

  #isFresh(carrier: Carrier, at: number): boolean {
    const now = this.#options.clock.now();
    const { isUsable, expiresAtMs } = carrier;
    return (
      isUsable && now - at < MAX_AGE_MS && (expiresAtMs === null || expiresAtMs - now > EXPIRY_MARGIN_MS)
    );
  }

  #of(lease: WorkerLease): WorkerTurns {
    const prepared = this.#workers.get(lease.appServer) ?? this.#add(lease.appServer, () => true);
    prepared.isCurrent = () => lease.isCurrent();
    return prepared;
  }

  #add(appServer: AppServer, isCurrent: () => boolean): WorkerTurns {
    const idle = new IdleThreads(appServer, () => this.#changed());
    const prepared: WorkerTurns = { waiting: [], idle, isCurrent };
    this.#workers.set(appServer, prepared);
    return prepared;
  }
}

const isForCaller = (one: WaitingTurn, caller: string): boolean =>
  one.caller === null || one.caller === caller;

/** The one that has waited longest of those that are for one caller only. */
const keptFor = ({ waiting }: WorkerTurns, isOwner: (caller: string) => boolean): WaitingTurn | undefined =>
  waiting.find(({ caller }) => caller !== null && isOwner(caller));

/** One that is ready first, then the caller's own, then the one that has waited longest. */
const pick = ({ waiting }: WorkerTurns, slug: string, caller: string): WaitingTurn | null => {
  const fitting = waiting.filter((one) => one.slug === slug && isForCaller(one, caller));
  const ready = fitting.filter(({ carrier }) => carrier?.isReady === true);
  const started = fitting.filter(({ carrier }) => carrier !== null);
  const all = [ready, started, fitting].find(({ length }) => length > 0) ?? [];
  return all.find((one) => one.caller !== null) ?? all[0] ?? null;
};
