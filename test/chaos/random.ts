import { createHash } from 'node:crypto';

/** Reproducible randomness: everything is drawn from the seed and a label. */
export interface Random {
  /** In [0, 1). */
  next(): number;
  /** An integer, both ends included. */
  between(low: number, high: number): number;
  pick<T>(list: readonly [T, ...T[]]): T;
}

/** Mulberry32. The label names what is drawn, so that the plan of a request does not depend on the order. */
export const randomOf = (seed: number, label: string): Random => {
  let state = createHash('sha256').update(`${seed} ${label}`).digest().readUInt32LE();
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1));
  return { next, between, pick: (list) => list[between(0, list.length - 1)] ?? list[0] };
};
