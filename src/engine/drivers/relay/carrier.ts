import type { AppServer, ThreadSignal } from '../../../codex/app-server.ts';
import type { HeldTurnHandle, RelayTurnHandle } from '../../../codex/relay/server/held-turns.ts';
import type { RelayTurns } from '../../../codex/relay/server/relay.ts';
import type { RelayTurnParams } from '../../../codex/relay/server/relay-turn.ts';
import type { Clock } from '../../../kit/ambient.ts';
import { IdleTimer, within } from '../../../kit/async/wait.ts';
import { closeTurn, type RunningTurn, type StartedTurn } from '../../attempt/app-server-turn.ts';
import type { TurnEnd } from '../driver.ts';

/** A thread of the app-server that carries turns of clients. It has no text of theirs in its settings. */
export interface CarrierThread {
  readonly threadId: string;
  /** The entry of the model catalogue that it was started with. */
  readonly slug: string;
  /** The only caller whose turns it carries; null: it has not carried any. */
  caller: string | null;
  turns: number;
  /** Size of the answers that it remembers. */
  answerBytes: number;
}

export const freshThread = (threadId: string, slug: string): CarrierThread => ({
  threadId,
  slug,
  caller: null,
  turns: 0,
  answerBytes: 0,
});

/** The app-server sends everything that a thread remembers with each turn, so it gets slower with each. */
const MAX_TURNS = 16;
const MAX_ANSWER_BYTES = 1024 * 1024;
/** The app-server compacts a thread whose reported usage is close to the context window, which is far beyond this. */
const MAX_TOKENS = 10_000_000;

/**
 * A turn has the configuration of its start. A new one costs as much as a few requests, so there is little to gain beyond
 * this.
 */
const MAX_REQUESTS = 256;
const MAX_TURN_MS = 15 * 60_000;
/**
 * How long the app-server may take to ask in a turn that it has started, or was to continue. It may be renewing its login,
 * and would lose that if its turn were ended in the middle.
 */
const ASKED_WITHIN_MS = 30_000;

/** Whether the thread may carry another turn after one that the app-server has completed with its answer. */
export const isReusable = (thread: CarrierThread, { usage }: TurnEnd): boolean =>
  hasRoom(thread) &&
  usage !== null &&
  usage.inputTokens + usage.outputTokens < MAX_TOKENS &&
  usage.totalTokens < MAX_TOKENS;

const hasRoom = ({ turns, answerBytes }: CarrierThread): boolean =>
  turns < MAX_TURNS && answerBytes < MAX_ANSWER_BYTES;

/** What is known about one version of the app-server. */
export interface Continuing {
  /** False: it has completed a turn that it was to continue. */
  works: boolean;
  /** Called when that is found out. */
  readonly onStopped: () => void;
}

/** How a carrier is started. */
export interface CarrierPlan {
  readonly appServer: AppServer;
  readonly relay: RelayTurns;
  readonly clock: Clock;
  readonly continuing: Continuing;
  /** A thread that has carried a turn before; null: a new one is started. */
  readonly thread: CarrierThread | null;
  readonly slug: string;
  /** The id of the item in the place of the conversation; null for a review, which has an input of its own. */
  readonly placeholder: string | null;
  readonly startThread: () => Promise<string>;
  /** Puts what the turn needs into its thread. */
  readonly prepare: (threadId: string) => Promise<void>;
  readonly startTurn: (threadId: string) => Promise<StartedTurn>;
}

type KeptOfPlan = Pick<CarrierPlan, 'appServer' | 'clock' | 'continuing'>;

/** How long the app-server may take to complete a turn whose answer it has. */
const COMPLETED_WITHIN_MS = 10_000;
/** A turn without a request causes few signals. */
const MAX_EARLY_SIGNALS = 64;

/**
 * A turn of the app-server that carries requests of clients: its model request waits in the relay, which writes the
 * client's request over it. So the turn can be started before that request arrives. If the app-server has nothing to do
 * with the answer, it asks again in the same turn, which carries the next request of the same caller.
 */
export class Carrier {
  readonly thread: CarrierThread;
  readonly turnId: string;
  readonly placeholder: string | null;
  readonly #kept: KeptOfPlan;
  readonly #held: HeldTurnHandle;
  readonly #signals: Signals;
  readonly #running: RunningTurn;
  readonly #startedAtMs: number;
  /** When it was started or continued. */
  #continuedAtMs: number;
  #relayTurn: RelayTurnHandle | null = null;
  #requests = 0;
  /** Whether it has carried a request, and was to go on. */
  #isContinued = false;
  /** Whether the app-server completes the turn, because it got an answer without output. */
  #completes = false;
  /** Ends the turn if the app-server does not ask for the claim; null: it has asked before, or is not waited for. */
  #askTimer: IdleTimer | null = null;

  private constructor(plan: CarrierPlan, started: CarrierTurn) {
    // Not all of it: how it is started may hold what the request has that needed it, and it carries others for long.
    const { appServer, clock, continuing, placeholder } = plan;
    this.#kept = { appServer, clock, continuing };
    this.placeholder = placeholder;
    this.#startedAtMs = clock.now();
    this.#continuedAtMs = this.#startedAtMs;
    this.thread = started.thread;
    this.turnId = started.turnId;
    this.#held = started.held;
    this.#signals = started.signals;
    this.#running = started.running;
    this.thread.turns += 1;
    void this.#learn();
  }

  static async start(plan: CarrierPlan): Promise<Carrier> {
    const { appServer, relay, slug, placeholder } = plan;
    const thread = plan.thread ?? freshThread(await plan.startThread(), slug);
    const { threadId } = thread;
    const signals = new Signals();
    const held = relay.expect({
      threadId,
      slug,
      placeholder,
      isFirstOfThread: thread.turns === 0,
      onLost: () => signals.lost(),
    });
    signals.unwatch = appServer.watchThread(threadId, (signal) => signals.receive(signal));
    try {
      await plan.prepare(threadId);
      const { turnId, running } = await plan.startTurn(threadId);
      held.started(turnId);
      return new Carrier(plan, { thread, held, signals, turnId, running });
    } catch (error) {
      held.refuseFurtherRequests();
      signals.unwatch();
      void closeTurn(appServer, null, signals.isClosed ? null : threadId);
      throw error;
    }
  }

  /** Whether its model request has arrived, and can be sent at once. */
  get isReady(): boolean {
    return this.#held.isReady;
  }

  /** Whether it can still carry a request. */
  get isUsable(): boolean {
    return !this.#signals.isOver && !this.#isStuck;
  }

  /** Calls the listener when it can no longer carry a request. */
  whenOver(listener: () => void): void {
    void this.#signals.over.then(listener);
  }

  /** When the credentials that it will use expire; null: unknown. */
  get expiresAtMs(): number | null {
    return this.#held.expiresAtMs;
  }

  /** Null: the app-server has ended it. */
  get running(): RunningTurn | null {
    return this.#signals.isEnded ? null : this.#running;
  }

  /** Sends the request of a client. Its signals go to `receive`, those that have arrived first. */
  claim(params: RelayTurnParams, receive: (signal: ThreadSignal) => void): RelayTurnHandle {
    this.thread.caller = params.context.caller.keyId;
    this.#requests += 1;
    this.#relayTurn = this.#held.claim(params);
    this.#signals.deliverTo((signal) => {
      if (!this.#isUnasked) receive(signal);
      // It is about what was before. For a request that was not asked for, the end of the turn is like that of its worker.
      else if (endOf(signal) !== null) receive({ kind: 'closed' });
    });
    if (this.#isContinued && !this.#held.isReady) this.#limitWait();
    return this.#relayTurn;
  }

  /**
   * The request needs nothing more. Whether the turn carries another one of its caller; otherwise it must be ended.
   */
  letGo(): boolean {
    this.#stopLimit();
    if (!this.isUsable) return false;
    const { clock, continuing } = this.#kept;
    const isYoung = this.#requests < MAX_REQUESTS && clock.now() - this.#startedAtMs < MAX_TURN_MS;
    if (this.#relayTurn === null) return isYoung;
    const mayGoOn = isYoung && continuing.works;
    const isTold = this.#relayTurn.letGo(mayGoOn ? 'asks-again' : 'completes');
    this.#completes = isTold && !mayGoOn;
    if (!isTold || !mayGoOn) return false;
    // Time that was given to an app-server for a request that was cancelled is not given anew.
    if (this.#relayTurn.wasAsked) this.#continuedAtMs = clock.now();
    this.#relayTurn = null;
    this.#isContinued = true;
    this.#signals.forget();
    return true;
  }

  /** No model request is sent after the current one. */
  refuseFurtherRequests(): void {
    this.#held.refuseFurtherRequests();
  }

  /** Ends the turn. Returns the thread if it can carry another one; otherwise it is closed. */
  async end(how: TurnEnd): Promise<CarrierThread | null> {
    this.#stopLimit();
    this.#held.refuseFurtherRequests();
    const isCompleted = (how.isComplete || this.#completes) && (await this.#isCompleted());
    this.thread.answerBytes += this.#relayTurn?.answerBytes ?? 0;
    this.#relayTurn?.close();
    this.#signals.unwatch();
    const isFit = this.#completes ? hasRoom(this.thread) : isReusable(this.thread, how);
    if (isCompleted && !this.#signals.isClosed && isFit) return this.thread;
    const threadId = this.#signals.isClosed ? null : this.thread.threadId;
    await closeTurn(this.#kept.appServer, this.running, threadId);
    return null;
  }

  /** An app-server that has completed a turn which it was to continue is not asked to do so again. */
  async #learn(): Promise<void> {
    const how = await this.#signals.over;
    const { continuing } = this.#kept;
    if (how !== 'completed' || !this.#isUnasked || !continuing.works) return;
    continuing.works = false;
    continuing.onStopped();
  }

  #limitWait(): void {
    const restMs = Math.max(0, this.#askedByMs - this.#kept.clock.now());
    this.#askTimer = new IdleTimer(restMs, () => this.#endUnasked());
  }

  #stopLimit(): void {
    this.#askTimer?.stop();
    this.#askTimer = null;
  }

  /** Nothing was sent, and nothing will be: another turn can carry the request. */
  #endUnasked(): void {
    if (!this.#isUnasked || this.#signals.isOver) return;
    this.#held.refuseFurtherRequests();
    this.#signals.lost();
  }

  /** Whether the app-server was to ask again, and has not. */
  get #isUnasked(): boolean {
    return this.#isContinued && this.#relayTurn?.wasAsked !== true;
  }

  /** Whether the app-server does nothing with it: the next request would wait in vain, too. */
  get #isStuck(): boolean {
    const isAsked = this.#relayTurn?.wasAsked ?? this.#held.isReady;
    return !isAsked && this.#kept.clock.now() >= this.#askedByMs;
  }

  get #askedByMs(): number {
    return this.#continuedAtMs + ASKED_WITHIN_MS;
  }

  async #isCompleted(): Promise<boolean> {
    return (await within(this.#signals.over, COMPLETED_WITHIN_MS)) === 'completed';
  }
}

interface CarrierTurn {
  readonly thread: CarrierThread;
  readonly held: HeldTurnHandle;
  readonly signals: Signals;
  readonly turnId: string;
  readonly running: RunningTurn;
}

/** How a turn of the app-server is over: it has ended, its connection has, or it does what it was not asked for. */
type Over = 'completed' | 'failed' | 'closed' | 'lost';

/** The signals of a thread during one turn: kept until someone reads them. */
class Signals {
  readonly #over = Promise.withResolvers<Over>();
  #early: ThreadSignal[] = [];
  #receive: ((signal: ThreadSignal) => void) | null = null;
  #how: Over | null = null;
  #isEnded = false;
  unwatch: () => void = () => {};

  /** How the app-server's turn has ended. */
  get over(): Promise<Over> {
    return this.#over.promise;
  }

  get isOver(): boolean {
    return this.#how !== null;
  }

  /** Whether the app-server runs it no longer. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  get isClosed(): boolean {
    return this.#how === 'closed';
  }

  receive(signal: ThreadSignal): void {
    const how = endOf(signal);
    if (how !== null) {
      this.#isEnded = true;
      if (this.#how !== 'lost') this.#how = how;
      this.#over.resolve(how);
    }
    this.#pass(signal);
  }

  #pass(signal: ThreadSignal): void {
    if (this.#receive !== null) this.#receive(signal);
    else if (this.#early.length < MAX_EARLY_SIGNALS) this.#early.push(signal);
  }

  /** For the reader, a turn that cannot continue is like one whose worker is gone. */
  lost(): void {
    if (this.#how !== 'closed') this.#how = 'lost';
    this.#over.resolve('lost');
    this.#pass({ kind: 'closed' });
  }

  /** The reader needs no more of them. */
  forget(): void {
    this.#receive = null;
    this.#early = [];
  }

  deliverTo(receive: (signal: ThreadSignal) => void): void {
    this.#receive = receive;
    for (const signal of this.#early.splice(0)) receive(signal);
  }
}

const endOf = (signal: ThreadSignal): Over | null => {
  if (signal.kind === 'closed') return 'closed';
  if (signal.kind !== 'notification' || signal.method !== 'turn/completed') return null;
  const { turn } = signal.params as { readonly turn?: { readonly status?: string } };
  return turn?.status === 'completed' ? 'completed' : 'failed';
};
