/**
 * One thread serves all requests, so long work is cut into steps that yield to other work. The time limit of a turn is
 * shared: ten long tasks do not make it ten times as long.
 */

/** Work that can be paused: it yields wherever other work may run first. */
export type Sliced<Result> = Generator<void, Result, void>;

/** Long enough to make progress. Short, because a request of another key takes some thirty turns of the loop until its answer. */
const TURN_MS = 3;

/** Saved at load, because tests may replace the globals. */
const realImmediate = setImmediate;
const realNow = performance.now.bind(performance);

/** When this turn of the event loop should end; null: no long work has run in it. */
let endsAt: number | null = null;
const waiting: (() => void)[] = [];

const begin = (): void => {
  endsAt = realNow() + TURN_MS;
  realImmediate(nextTurn);
};

/** Immediates run after sockets, pipes and timers. */
const nextTurn = (): void => {
  endsAt = null;
  if (waiting.length === 0) return;
  begin();
  serveNext();
};

/**
 * Resumes the task that has waited longest, and more while the turn lasts: most need little time, and resuming one per
 * turn would be slower than they arrive.
 */
const serveNext = (): void => {
  waiting.shift()?.();
  // `nextTick` in a microtask runs after all resumed promises.
  if (waiting.length > 0) queueMicrotask(() => process.nextTick(serveMore));
};

const serveMore = (): void => {
  if (!mustYield()) serveNext();
};

/** Whether `yieldToLoop` would wait. For code that runs for every event: asking costs less than an `await`. */
export const mustYield = (): boolean => {
  if (endsAt === null) begin();
  return endsAt !== null && realNow() >= endsAt;
};

/** Lets everything else run once that is ready: what was read, and what is to be written. */
export const nextLoopTurn = (): Promise<void> =>
  new Promise((resolve) => {
    realImmediate(resolve);
  });

/** Yields to other work if this turn of the loop has been long. Throws the signal's reason once it is aborted. */
export const yieldToLoop = async (signal?: AbortSignal): Promise<void> => {
  if (mustYield()) {
    const turn = Promise.withResolvers<void>();
    waiting.push(turn.resolve);
    await turn.promise;
  }
  signal?.throwIfAborted();
};

/**
 * Runs the work in as many turns of the event loop as needed. Aborting the signal stops it after the current step and
 * throws its reason. Null: cannot be aborted.
 */
export const runSliced = async <Result>(
  steps: Sliced<Result>,
  signal: AbortSignal | null,
): Promise<Result> => {
  const abort = signal ?? undefined;
  await yieldToLoop(abort);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (mustYield()) await yieldToLoop(abort);
  }
};

/** Runs the work synchronously. */
export const atOnce = <Result>(steps: Sliced<Result>): Result => {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
};
