import type { Oddity } from '../../codex/sources/source.ts';

export interface OddityFacts {
  readonly model: string;
  /** It is the nth oddity of this kind in its turn. */
  readonly nth: number;
}

export type OnOddity = (oddity: Oddity, about: OddityFacts) => void;

/** Counts the oddities of one turn, so that each kind can be logged once. */
export const turnOddities = (onOddity: OnOddity, model: string): ((oddity: Oddity) => void) => {
  const counts = new Map<Oddity, number>();
  return (oddity) => {
    const nth = (counts.get(oddity) ?? 0) + 1;
    counts.set(oddity, nth);
    onOddity(oddity, { model, nth });
  };
};
