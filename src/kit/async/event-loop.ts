/**
 * One thread serves all requests, so long work is cut into steps, and others get their turn between
 * them. How long a turn may be is shared: ten pieces of long work do not make it ten times as long.
 */

/** Work that can be paused: it yields wherever other work may run first. */
export type Sliced<Result> = Generator<void, Result, void>;

/** Long enough to make progress, short enough to be unnoticed. */
const TURN_MS = 10;

/** The real ones, also where a test has put others in their place: turns are shared between tests. */
const realImmediate = setImmediate;
const realNow = performance.now.bind(performance);

/** When this turn of the event loop should end; null: no long work has run in it yet. */
let endsAt: number | null = null;
const waiting: (() => void)[] = [];

const begin = (): void => {
  endsAt = realNow() + TURN_MS;
  realImmediate(nextTurn);
};

/** Immediates come after whatever else the loop had to do: sockets, pipes, timers. */
const nextTurn = (): void => {
  endsAt = null;
  if (waiting.length === 0) return;
  begin();
  serveNext();
};

/**
 * The one who has waited longest goes on, and the others too while the turn lasts: most need little of
 * it, and with one in a turn a busy loop would serve them more slowly than they come.
 */
const serveNext = (): void => {
  waiting.shift()?.();
  // A tick comes when all that was resumed by promises has been done.
  if (waiting.length > 0) queueMicrotask(() => process.nextTick(serveMore));
};

const serveMore = (): void => {
  if (!isOver()) serveNext();
};

const isOver = (): boolean => {
  if (endsAt === null) begin();
  return endsAt !== null && realNow() >= endsAt;
};

/** Lets others go first, if this turn of the loop has been long. Throws the signal's reason once it is aborted. */
export const yieldToLoop = async (signal?: AbortSignal): Promise<void> => {
  if (isOver()) {
    const turn = Promise.withResolvers<void>();
    waiting.push(turn.resolve);
    await turn.promise;
  }
  signal?.throwIfAborted();
};

/**
 * Does the work in as many turns of the event loop as it needs. Aborting the signal stops it after the
 * current step, and the signal's reason is thrown. Null: the work belongs to no turn and is always finished.
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
    if (isOver()) await yieldToLoop(abort);
  }
};

/** Does the work at once. */
export const atOnce = <Result>(steps: Sliced<Result>): Result => {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
};
