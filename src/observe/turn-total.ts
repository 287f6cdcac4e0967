import { addUsage } from '../canonical/events/usage.ts';
import type { TurnObserver, TurnSummary } from './observer.ts';

/** Combines the turns of a request: an answer may have several choices. */
export const turnTotal = (note: (turn: TurnSummary) => void): TurnObserver => {
  let total: TurnSummary | null = null;
  return {
    onEnd(turn) {
      total = total === null ? turn : together(total, turn);
      note(total);
    },
  };
};

const together = (a: TurnSummary, b: TurnSummary): TurnSummary => ({
  ending: badness(b) > badness(a) ? b.ending : a.ending,
  usage: addUsage(a.usage, b.usage),
  firstEventMs: earlier(a.firstEventMs, b.firstEventMs),
  durationMs: Math.max(a.durationMs, b.durationMs),
});

/** Ranks endings by severity. */
const badness = ({ ending }: TurnSummary): number => {
  if (ending.kind === 'thrown') return 3;
  if (ending.kind === 'abandoned') return 1;
  return ending.outcome.kind === 'failed' ? 2 : 0;
};

const earlier = (a: number | null, b: number | null): number | null => {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
};
