import { mustHaveEffect } from '../../../canonical/failure/rejection.ts';
import { circumstancesOf, type Turn } from '../../../canonical/context/turn-context.ts';
import type { TurnRequest } from '../../../canonical/request/turn-request.ts';
import type { Clock } from '../../../kit/ambient.ts';
import { Recent } from '../../../kit/collections/recent.ts';
import { EDIT_FIELDS, type EditField } from '../../capabilities/profile.ts';
import { requestedFields } from '../../capabilities/requested-fields.ts';

/** Model names come from clients: what is remembered about them has an end. */
const MAX_LEARNT = 10_000;
/** A backend may learn too, and what it refused may have hung on other parameters of that request. */
const LEARNT_FOR_MS = 10 * 60_000;
/** Refusing one of their values says nothing about the others. */
const NOT_LEARNT: ReadonlySet<EditField> = new Set(['service_tier', 'include']);

/** What a backend was found to refuse, and under which circumstances. */
export class LearntRefusals {
  readonly #refused: Recent<true>;

  constructor(clock: Clock) {
    this.#refused = new Recent(MAX_LEARNT, LEARNT_FOR_MS, clock);
  }

  /** True: this is news. */
  remember(turn: Turn, field: EditField): boolean {
    if (NOT_LEARNT.has(field)) return false;
    const key = keyOf(circumstancesOf(turn), field);
    const isNews = this.#refused.get(key) === undefined;
    this.#refused.set(key, true);
    return isNews;
  }

  /** What is not worth trying for this request. */
  refusedFor(turn: Turn): ReadonlySet<EditField> {
    const circumstances = circumstancesOf(turn);
    const refused = EDIT_FIELDS.filter(
      (field) => this.#refused.get(keyOf(circumstances, field)) !== undefined,
    );
    if (refused.length === 0) return new Set();
    const demanded = demandedFields(turn.request);
    return new Set(refused.filter((field) => !demanded.has(field)));
  }
}

const keyOf = (circumstances: string, field: EditField): string => `${field} ${circumstances}`;

/** The fields without which the caller would get no answer: they are tried again. */
const demandedFields = (request: TurnRequest): ReadonlySet<EditField> =>
  new Set(
    requestedFields(request)
      .filter(({ path }) => mustHaveEffect(request, path))
      .map(({ field }) => field),
  );
