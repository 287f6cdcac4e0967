import { circumstancesOf, type Turn } from '../../canonical/context/turn-context.ts';
import { mustHaveEffect } from '../../canonical/failure/rejection.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { Clock } from '../../kit/ambient.ts';
import { forgetOldest } from '../../kit/collections/recent.ts';
import type { RequestFormat } from '../translate/request-strategy.ts';
import { EDIT_FIELDS, type EditField } from './profile.ts';
import { requestedFields } from './requested-fields.ts';

/** What a backend may reject: a field of the model request, or a way of writing it. */
export type Rejected =
  | EditField
  | `${RequestFormat} format`
  /** Instructions in their own field. */
  | 'instructions field'
  | 'custom tools'
  /** Namespaces of calls in the conversation. */
  | 'namespaces'
  /** Tools in the middle of the conversation. */
  | 'late tools'
  /** The trigger of a compaction. */
  | 'compaction trigger'
  /** Reasoning that this server put back into the conversation. */
  | 'recalled reasoning';

/** Keys and model names come from clients, so the number of entries is limited. */
const MAX_CIRCUMSTANCES = 10_000;
/** The backend may change, and a rejection may have depended on other parameters of its request. */
const LEARNED_FOR_MS = 10 * 60_000;
/** A rejected value says nothing about other values of these fields. */
const NOT_LEARNED: ReadonlySet<EditField> = new Set(['service_tier', 'include']);

/**
 * Remembers what a backend was found to reject, so that the next request is not rejected for it too. It holds for one
 * caller, model and effort: a request of one client must not take a parameter away from others.
 */
export class Refusals {
  readonly #clock: Clock;
  /** When each was learned, by circumstances. */
  readonly #learned = new Map<string, Map<Rejected, number>>();
  #revision = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Changes when something new is learned: plans made before may be different now. */
  get revision(): number {
    return this.#revision;
  }

  /** Returns true if it was not known. */
  add(turn: Turn, what: Rejected): boolean {
    const circumstances = circumstancesOf(turn);
    const known = this.#learned.get(circumstances) ?? new Map<Rejected, number>();
    const isNews = !this.#isFresh(known.get(what));
    known.set(what, this.#clock.now());
    // Maps keep the order of insertion: the newest is the last to be forgotten.
    this.#learned.delete(circumstances);
    this.#learned.set(circumstances, known);
    forgetOldest(this.#learned, MAX_CIRCUMSTANCES);
    if (isNews) this.#revision += 1;
    return isNews;
  }

  has(turn: Turn, what: Rejected): boolean {
    return this.#isFresh(this.#learned.get(circumstancesOf(turn))?.get(what));
  }

  /** The backend has accepted it since. */
  remove(turn: Turn, what: Rejected): void {
    this.#learned.get(circumstancesOf(turn))?.delete(what);
  }

  /** Returns true if it was not known, and is worth knowing. */
  addField(turn: Turn, field: EditField): boolean {
    return !NOT_LEARNED.has(field) && this.add(turn, field);
  }

  /** Fields that are not worth sending with this request. */
  fieldsFor(turn: Turn): ReadonlySet<EditField> {
    const known = this.#learned.get(circumstancesOf(turn));
    if (known === undefined) return NO_FIELDS;
    const refused = EDIT_FIELDS.filter((field) => this.#isFresh(known.get(field)));
    if (refused.length === 0) return NO_FIELDS;
    const demanded = demandedFields(turn.request);
    return new Set(refused.filter((field) => !demanded.has(field)));
  }

  #isFresh(learnedAt: number | undefined): boolean {
    return learnedAt !== undefined && this.#clock.now() - learnedAt < LEARNED_FOR_MS;
  }
}

const NO_FIELDS: ReadonlySet<EditField> = new Set();

/** Fields without which the caller would get no answer: they are tried again. */
const demandedFields = (request: TurnRequest): ReadonlySet<EditField> =>
  new Set(
    requestedFields(request)
      .filter(({ path }) => mustHaveEffect(request, path))
      .map(({ field }) => field),
  );
