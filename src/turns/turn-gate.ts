import type { ReservedPart } from '../canonical/context/turn-context.ts';
import type { ModelFilter } from '../canonical/models/model-names.ts';
import type { Path } from '../canonical/request/path.ts';
import type { TurnRequest } from '../canonical/request/turn-request.ts';
import type { OneOrMore } from '../kit/collections/lists.ts';
import type { TurnObserver } from '../observe/observer.ts';

/** Decides what a key may do: which models it uses, which turns it runs, what is stored for it. Counts what turns use. */
export interface TurnGate {
  /** Finds the models that the key may use by their names; null: it may use all of them. */
  modelFilter(caller: string): ModelFilter | null;
  /**
   * The requests as the key may send them: an effort that a client left open can be lowered. Rejects with the refusal if the
   * key may not run them at all.
   */
  allow(ask: RequestsOfKey): Promise<OneOrMore<TurnRequest>>;
  /**
   * Reserves what the turns may use of the limits of the key. Nothing was sent upstream yet. Rejects with the refusal, or
   * with the signal's reason.
   */
  enter(ask: GateAsk): Promise<GatePass>;
  /** Throws if the key runs no turn any more: it may have been revoked while a turn waited for its place. */
  check(caller: string): void;
  /** Rejects if nothing more is stored for the key. */
  keep(caller: string): Promise<void>;
  /**
   * Counts a request that is passed on to another provider, which is not parsed: one request, and its bytes as tokens if it
   * is text. Rejects with the refusal. Returns a function to call at its end, with whether the provider answered.
   */
  forward(ask: ForwardAsk): Promise<(hasAnswered: boolean) => void>;
}

/** A request that is passed on to another provider. */
export interface ForwardAsk {
  readonly caller: string;
  /** Whether its body is text for a model, so that its bytes are tokens. */
  readonly isText: boolean;
  readonly bytes: number;
  readonly signal: AbortSignal;
}

/** What a key asks for. */
export interface RequestsOfKey {
  /** The id of the client's key. */
  readonly caller: string;
  readonly requests: OneOrMore<TurnRequest>;
  /** The name of a field of the turn request in the body of the client, for refusals. */
  readonly nameOf: (path: Path) => string;
}

export interface GateAsk extends RequestsOfKey {
  /** How often each of the requests runs. */
  readonly choices: number;
  /** The size of the body, and of what it refers to. */
  readonly bytes: number;
  /** How many of the turns have sent a model request so far. */
  readonly asked: () => number;
  /** Whether something of the answer is stored for the key. */
  readonly isKept: boolean;
  readonly signal: AbortSignal;
}

/** The turns of one run, from their reservation to their end. */
export interface GatePass {
  /** Response headers about the limits of the key. */
  readonly headers: Readonly<Record<string, string>>;
  /** An observer for each turn of the run, which adds up what they use. */
  watch(): TurnObserver;
  /**
   * Reserves one more model request for a turn whose client has said this much. Rejects with the refusal, or with the signal's
   * reason.
   */
  steer(chars: number, signal: AbortSignal): Promise<ReservedPart>;
  /** Everything has ended, or nothing runs: what was reserved and not used is given back. Idempotent; must not throw. */
  leave(): void;
}

const FREE_PART: ReservedPart = { begin() {}, giveBack() {} };

/** Of a key without limits. */
export const FREE_PASS: GatePass = {
  headers: {},
  watch: () => ({}),
  steer: () => Promise.resolve(FREE_PART),
  leave() {},
};

/** Every key may run everything. */
export const OPEN_GATE: TurnGate = {
  modelFilter: () => null,
  allow: ({ requests }) => Promise.resolve(requests),
  enter: () => Promise.resolve(FREE_PASS),
  check() {},
  keep: () => Promise.resolve(),
  forward: () => Promise.resolve(() => {}),
};
