import type { Failure } from '../../../canonical/failure/failure.ts';
import type { Clock } from '../../../kit/ambient.ts';
import { forgetOldest } from '../../../kit/collections/recent.ts';
import type { BackendProfile } from '../../capabilities/profile.ts';
import type { Refusals } from '../../capabilities/refusals.ts';
import type { RelayReport } from '../../sources/source.ts';
import type { AfterAnswer } from '../answer/app-server-answer.ts';
import { affinityKey, type AffinityOptions, uuidV7 } from '../request/affinity.ts';
import { HeldTurn, type ExpectedTurn } from './held-turn.ts';
import { RelayTurn, type RelayTurnParams } from './relay-turn.ts';

/** A turn of the app-server that waits for a request of a client. */
export interface HeldTurnHandle {
  /** When the credentials of its model request expire; null: unknown, or the request has not arrived. */
  readonly expiresAtMs: number | null;
  /** Whether its model request has arrived, and can be sent at once. */
  readonly isReady: boolean;
  /** The app-server has started it, with this id. */
  started(turnId: string): void;
  /** Sends the request of a client as its model request. */
  claim(params: RelayTurnParams): RelayTurnHandle;
  /** Rejects model requests from now on: there was none, or the current answer is the last one. */
  refuseFurtherRequests(): void;
}

export interface RelayTurnHandle {
  readonly report: RelayReport;
  /** Starts delivery of the model's output. The app-server's next model request waits until then. */
  begin(): void;
  /** Whether the app-server has sent a model request for it. */
  readonly wasAsked: boolean;
  /** Size of the answers so far, as the app-server has received them. */
  readonly answerBytes: number;
  /**
   * The client needs nothing more. The app-server gets the end of an answer instead of the answer: it asks again in the
   * same turn, which can be claimed anew, or completes the turn. False: it has to act on what it got, and nothing changed.
   */
  letGo(after: AfterAnswer): boolean;
  /** Rejects further model requests, and aborts what still runs upstream. */
  close(): void;
}

export interface HeldTurnsOptions {
  readonly clock: Clock;
  readonly profile: BackendProfile;
  readonly refusals: Refusals;
  readonly affinity: Pick<AffinityOptions, 'cacheKeys'>;
  /** Why the login could not be renewed recently. */
  readonly signIn: () => Failure | null;
}

/** More threads than an app-server holds before it is replaced. */
const MAX_ENDED = 10_000;

/** The turns of the app-servers, by thread. */
export class HeldTurns {
  readonly #options: HeldTurnsOptions;
  readonly #turns = new Map<string, HeldTurn>();
  /** Threads whose last turn has ended. */
  readonly #ended = new Set<string>();

  constructor(options: HeldTurnsOptions) {
    this.#options = options;
  }

  /** Null: the thread is unknown. */
  find(threadId: string): HeldTurn | 'ended' | null {
    return this.#turns.get(threadId) ?? (this.#ended.has(threadId) ? 'ended' : null);
  }

  expect(expected: ExpectedTurn): HeldTurnHandle {
    const held = new HeldTurn(expected, this.#options.clock);
    this.#turns.set(expected.threadId, held);
    this.#ended.delete(expected.threadId);
    return new TurnHandle(held, {
      claim: (turnId, params) => this.#claim(held, turnId, params),
      forget: () => this.#forget(held),
    });
  }

  #claim(held: HeldTurn, turnId: string, params: RelayTurnParams): RelayTurnHandle {
    const { clock, affinity, profile, refusals, signIn } = this.#options;
    const turn = { request: params.request, context: params.context };
    const { threadId, slug } = held.expected;
    const nowMs = clock.now();
    const relayTurn = new RelayTurn({
      ...params,
      thread: { threadId, slug, turnId },
      affinity: affinityKey(turn, params.session, affinity.cacheKeys),
      limits: { profile, refuses: refusals.fieldsFor(turn) },
      turnId: uuidV7(nowMs),
      startedAtMs: nowMs,
      holdsAnswers: held.expected.placeholder !== null && params.shape.mcp === null,
      signIn,
    });
    held.claim(relayTurn);
    return new ClaimedTurn(held, relayTurn, () => this.#forget(held));
  }

  #forget(held: HeldTurn): void {
    const { threadId } = held.expected;
    held.drop();
    if (this.#turns.get(threadId) !== held) return;
    this.#turns.delete(threadId);
    this.#ended.add(threadId);
    forgetOldest(this.#ended, MAX_ENDED);
  }
}

// Classes, not literals with getters: see `test/architecture/kept-garbage.test.ts`.

interface TurnActions {
  readonly claim: (turnId: string, params: RelayTurnParams) => RelayTurnHandle;
  readonly forget: () => void;
}

class TurnHandle implements HeldTurnHandle {
  readonly #held: HeldTurn;
  readonly #actions: TurnActions;
  #turnId = '';

  constructor(held: HeldTurn, actions: TurnActions) {
    this.#held = held;
    this.#actions = actions;
  }

  get expiresAtMs(): number | null {
    return this.#held.expiresAtMs;
  }

  get isReady(): boolean {
    return this.#held.isReady;
  }

  started(turnId: string): void {
    this.#turnId = turnId;
    this.#held.started(turnId);
  }

  claim(params: RelayTurnParams): RelayTurnHandle {
    return this.#actions.claim(this.#turnId, params);
  }

  refuseFurtherRequests(): void {
    this.#actions.forget();
  }
}

class ClaimedTurn implements RelayTurnHandle {
  readonly report: RelayTurn;
  readonly #held: HeldTurn;
  readonly #forget: () => void;

  constructor(held: HeldTurn, relayTurn: RelayTurn, forget: () => void) {
    this.report = relayTurn;
    this.#held = held;
    this.#forget = forget;
  }

  get wasAsked(): boolean {
    return this.report.wasAsked;
  }

  get answerBytes(): number {
    return this.report.answerBytes;
  }

  begin(): void {
    this.report.begin();
  }

  letGo(after: AfterAnswer): boolean {
    if (!this.report.letGo(after)) return false;
    if (after === 'asks-again') this.#held.unclaim();
    else this.#forget();
    return true;
  }

  close(): void {
    this.#forget();
    this.report.cut();
  }
}
