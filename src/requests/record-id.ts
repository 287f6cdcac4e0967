import type { Ambient } from '../kit/ambient.ts';

/** Enough until the year 5188. */
const TIME_DIGITS = 9;
const RANDOM_DIGITS = 16;

/** Ids that begin with this are those of requests at this time; they sort by it. */
export const idPrefixAt = (ms: number): string =>
  `rql_${Math.max(0, Math.floor(ms)).toString(36).padStart(TIME_DIGITS, '0')}`;

export const mintRecordId = ({ ids }: Pick<Ambient, 'ids'>, startedAt: number): string =>
  `${idPrefixAt(startedAt)}${ids.mint('').slice(1, 1 + RANDOM_DIGITS)}`;
