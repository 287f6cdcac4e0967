import type { Anomaly } from '../../codex/sources/source.ts';

/** `nth`: the number of this kind of anomaly in its turn so far. */
export type OnAnomaly = (anomaly: Anomaly, about: { readonly model: string; readonly nth: number }) => void;

/** Counts the anomalies of one turn, so that each kind can be logged once. */
export const turnAnomalies = (onAnomaly: OnAnomaly, model: string): ((anomaly: Anomaly) => void) => {
  const counts = new Map<Anomaly, number>();
  return (anomaly) => {
    const nth = (counts.get(anomaly) ?? 0) + 1;
    counts.set(anomaly, nth);
    onAnomaly(anomaly, { model, nth });
  };
};
