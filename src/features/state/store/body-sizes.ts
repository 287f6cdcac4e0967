import { sql } from 'kysely';

/** How long the body of a turn is. Neither database reads the body for it. */
export const BODY_BYTES = sql<number>`octet_length(turns.body)`.as('bytes');

/** The first one, and then those that fit. */
export const firstWithin = <One extends { readonly bytes: number }>(
  sizes: readonly One[],
  max: number,
): readonly One[] => {
  let bytes = 0;
  const tooMany = sizes.findIndex((one, index) => (bytes += one.bytes) > max && index > 0);
  return tooMany < 0 ? sizes : sizes.slice(0, tooMany);
};
