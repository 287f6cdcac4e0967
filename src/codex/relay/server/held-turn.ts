import type { IncomingHttpHeaders } from 'node:http';

import { carriedInput, type CarriedInput } from '../request/carried-input.ts';
import { withoutForeignTools } from '../request/mcp-namespaces.ts';
import { credentialsExpiryOf, turnMetadataOf } from '../request/turn-metadata.ts';
import type { Clock } from '../../../kit/ambient.ts';
import { listIn, type JsonObject } from '../../../kit/json/json.ts';
import type { RelayTurn } from './relay-turn.ts';
import type { ModelBody } from './relayed-request.ts';

/** A turn that the app-server is about to start. */
export interface ExpectedTurn {
  readonly threadId: string;
  /** The model name that the thread was started with. */
  readonly slug: string;
  /** The id of the only item that was injected for it; null for a review, whose input is the app-server's own. */
  readonly placeholder: string | null;
  /** Whether the thread has had no turn before. */
  readonly isFirstOfThread: boolean;
  /** A model request was not this turn's own, and was not sent: the turn cannot continue. */
  readonly onLost: () => void;
}

/** Why a model request of a thread is not sent. */
export type LostReason =
  /** It is one of codex's own, such as a compaction. */
  | 'other-kind'
  /** It belongs to another turn of the thread. */
  | 'other-turn'
  /** Its input does not contain the placeholder. */
  | 'no-placeholder'
  /** Something after the placeholder is not this turn's own. */
  | 'foreign-item';

/** The model request of a turn that was accepted, or why it was not. */
export type HeldAdmission =
  | {
      readonly relayTurn: RelayTurn;
      readonly model: ModelBody;
      /** Number of items that codex added on its own; they are left out. */
      readonly added: number;
      /** Names of the tools that codex added on its own; they are left out. */
      readonly foreignTools: readonly string[];
      /** Must be called when the request is over. */
      readonly release: () => void;
    }
  | { readonly lost: LostReason }
  /** There is no reader for the answer. */
  | 'dropped';

/** A turn of the app-server, whose model requests wait until a request of a client claims it. */
export class HeldTurn {
  readonly expected: ExpectedTurn;
  readonly #clock: Clock;
  /** Null: dropped. */
  readonly #started = Promise.withResolvers<string | null>();
  #claimed = Promise.withResolvers<RelayTurn | null>();
  #isDropped = false;
  #isAdmitted = false;
  /** How many model requests wait for a claim: one at most, unless the app-server does something else. */
  #waiting = 0;
  /** When the credentials of the waiting request expire; null: unknown. */
  expiresAtMs: number | null = null;

  constructor(expected: ExpectedTurn, clock: Clock) {
    this.expected = expected;
    this.#clock = clock;
  }

  started(turnId: string): void {
    this.#started.resolve(turnId);
  }

  /** Whether its model request has arrived. */
  get isReady(): boolean {
    return this.#waiting > 0;
  }

  claim(relayTurn: RelayTurn): void {
    this.#claimed.resolve(relayTurn);
  }

  /** The claim is over. The next model request of the app-server is for another one. */
  unclaim(): void {
    this.#claimed = Promise.withResolvers();
  }

  /** The app-server sent a model request that is not this turn's own. A late one of an earlier turn does no harm. */
  lost(reason: LostReason): void {
    if (!this.#isDropped && reason !== 'other-turn') this.expected.onLost();
  }

  /** Rejects the requests that wait, and all later ones. */
  drop(): void {
    this.#isDropped = true;
    this.#started.resolve(null);
    this.#claimed.resolve(null);
  }

  /**
   * Checks a model request of the thread; `body` is null if it is not a JSON object. Waits until the turn is claimed or
   * dropped, or the app-server disconnects.
   */
  async admit(
    headers: IncomingHttpHeaders,
    body: JsonObject | null,
    left: AbortSignal,
  ): Promise<HeldAdmission> {
    const { placeholder } = this.expected;
    if (placeholder !== null) {
      const metadata = turnMetadataOf(headers);
      if (metadata.requestKind !== 'turn') return { lost: 'other-kind' };
      const turnId = await unlessLeft(this.#started.promise, left);
      if (turnId === null) return 'dropped';
      if (metadata.turnId !== turnId) return { lost: 'other-turn' };
    }
    const carriedIn = (of: JsonObject): CarriedInput | null =>
      placeholder === null ? null : carriedInput(listIn(of, 'input'), placeholder);
    const carried = body === null ? null : carriedIn(body);
    if (body === null || (placeholder !== null && carried === null)) return { lost: 'no-placeholder' };
    this.expiresAtMs = credentialsExpiryOf(headers, this.#clock.now());
    const entered = await this.#entered(left);
    if (entered === null) return 'dropped';
    const { relayTurn, release } = entered;
    const isOwn = (carried?.after ?? []).every((item) => relayTurn.own.has(item));
    if (left.aborted || relayTurn.signal.aborted || this.#isDropped || !isOwn) {
      release();
      return isOwn ? 'dropped' : { lost: 'foreign-item' };
    }
    const added = this.#isAdmitted || !this.expected.isFirstOfThread ? 0 : (carried?.before ?? 0);
    this.#isAdmitted = true;
    const cleaned = withoutForeignTools(body, relayTurn.mcp);
    const foreignTools = cleaned.foreign;
    const model =
      foreignTools.length === 0
        ? { body, carried }
        : { body: cleaned.body, carried: carriedIn(cleaned.body) };
    return { relayTurn, model, added, foreignTools, release };
  }

  /** Waits for the first claim that is not over before its request can be sent. */
  async #entered(
    left: AbortSignal,
  ): Promise<{ readonly relayTurn: RelayTurn; readonly release: () => void } | null> {
    for (;;) {
      const { promise } = this.#claimed;
      this.#waiting += 1;
      const relayTurn = await unlessLeft(promise, left);
      this.#waiting -= 1;
      if (relayTurn === null) return null;
      const release = await relayTurn.enter();
      const isClaimedAnew = relayTurn.after === 'asks-again' && this.#claimed.promise !== promise;
      if (!isClaimedAnew || this.#isDropped || left.aborted) return { relayTurn, release };
      release();
    }
  }
}

/** Null if the app-server disconnects first. */
const unlessLeft = async <T>(promise: Promise<T>, left: AbortSignal): Promise<T | null> => {
  const gone = Promise.withResolvers<null>();
  const leave = (): void => gone.resolve(null);
  if (left.aborted) leave();
  left.addEventListener('abort', leave, { once: true });
  try {
    return await Promise.race([gone.promise, promise]);
  } finally {
    left.removeEventListener('abort', leave);
  }
};
