import type { Clock } from '../ambient.ts';

export interface KeepAnswerOptions<T> {
  readonly clock: Clock;
  /** How long an answer is kept. */
  readonly keepMs: (answer: T) => number;
  /** How long a failure is kept before a retry. */
  readonly keepFailureMs: number;
}

/** Shares one pending call between all callers and keeps its result for a while. */
export const keepAnswer = <T>(
  ask: () => Promise<T>,
  { clock, keepMs, keepFailureMs }: KeepAnswerOptions<T>,
): (() => Promise<T>) => {
  let known: { readonly heard: Promise<T>; readonly until: number } | null = null;
  let asking: Promise<T> | null = null;
  const askNow = async (): Promise<T> => {
    const heard = ask();
    try {
      const answer = await heard;
      known = { heard, until: clock.now() + keepMs(answer) };
      return answer;
    } catch (error) {
      known = { heard, until: clock.now() + keepFailureMs };
      throw error;
    } finally {
      asking = null;
    }
  };
  return async () => {
    if (known !== null && clock.now() < known.until) return known.heard;
    known = null;
    asking ??= askNow();
    return asking;
  };
};
