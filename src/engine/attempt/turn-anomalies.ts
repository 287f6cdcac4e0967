import type { Anomaly } from '../../codex/sources/source.ts';

export interface OddityFacts {
  readonly model: string;
  /** It is the nth oddity of this kind in its turn. */
  readonly nth: number;
}

export type OnAnomaly = (anomaly: Anomaly, about: OddityFacts) => void;

/** Counts the oddities of one turn, so that each kind can be logged once. */
export const turnAnomalies = (onAnomaly: OnAnomaly, model: string): ((anomaly: Anomaly) => void) => {
  const counts = new Map<Anomaly, number>();
  return (anomaly) => {
    const nth = (counts.get(anomaly) ?? 0) + 1;
    counts.set(anomaly, nth);
    onAnomaly(anomaly, { model, nth });
  };
};
