import type { AppServer, ThreadSignal } from '../../../codex/app-server.ts';
import type { HeldTurnHandle, RelayTurnHandle } from '../../../codex/relay/server/held-turns.ts';
import type { RelayTurns } from '../../../codex/relay/server/relay.ts';
import type { RelayTurnParams } from '../../../codex/relay/server/relay-turn.ts';
import { within } from '../../../kit/async/wait.ts';
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

/** Whether the thread may carry another turn after one that the app-server has completed. */
export const isReusable = ({ turns, answerBytes }: CarrierThread, { usage }: TurnEnd): boolean =>
  turns < MAX_TURNS &&
  answerBytes < MAX_ANSWER_BYTES &&
  usage !== null &&
  usage.inputTokens + usage.outputTokens < MAX_TOKENS &&
  usage.totalTokens < MAX_TOKENS;

/** How a carrier is started. */
export interface CarrierPlan {
  readonly appServer: AppServer;
  readonly relay: RelayTurns;
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

/** How long the app-server may take to complete a turn whose answer it has. */
const COMPLETED_WITHIN_MS = 10_000;
/** A turn without a request causes few signals. */
const MAX_EARLY_SIGNALS = 64;

/**
 * A turn of the app-server that carries the request of a client: its model request waits in the relay, which writes the
 * client's request over it. So the turn can be started before that request arrives.
 */
export class Carrier {
  readonly thread: CarrierThread;
  readonly turnId: string;
  readonly placeholder: string | null;
  readonly #appServer: AppServer;
  readonly #held: HeldTurnHandle;
  readonly #signals: Signals;
  readonly #running: RunningTurn;
  #relayTurn: RelayTurnHandle | null = null;

  private constructor({ appServer, placeholder }: CarrierPlan, started: CarrierTurn) {
    this.#appServer = appServer;
    this.placeholder = placeholder;
    this.thread = started.thread;
    this.turnId = started.turnId;
    this.#held = started.held;
    this.#signals = started.signals;
    this.#running = started.running;
    this.thread.turns += 1;
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

  /** Whether it can still carry a request. */
  get isUsable(): boolean {
    return !this.#signals.isOver;
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
    this.#relayTurn = this.#held.claim(params);
    this.#signals.deliverTo(receive);
    return this.#relayTurn;
  }

  /** No model request is sent after the current one. */
  refuseFurtherRequests(): void {
    this.#held.refuseFurtherRequests();
  }

  /** Ends the turn. Returns the thread if it can carry another one; otherwise it is closed. */
  async end(how: TurnEnd): Promise<CarrierThread | null> {
    this.#held.refuseFurtherRequests();
    const isCompleted = how.isComplete && (await this.#isCompleted());
    this.thread.answerBytes += this.#relayTurn?.answerBytes ?? 0;
    this.#relayTurn?.close();
    this.#signals.unwatch();
    if (isCompleted && !this.#signals.isClosed && isReusable(this.thread, how)) return this.thread;
    const threadId = this.#signals.isClosed ? null : this.thread.threadId;
    await closeTurn(this.#appServer, this.running, threadId);
    return null;
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
