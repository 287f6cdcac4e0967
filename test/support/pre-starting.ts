import { Carrier, type CarrierThread } from '../../src/engine/drivers/relay/carrier.ts';
import { plainPlan } from '../../src/engine/drivers/relay/carrier-plans.ts';
import { PreStartedTurns } from '../../src/engine/drivers/relay/pre-started-turns.ts';
import { fakeRelay, fakeWorker } from './carriers.ts';
import { threadSettings } from './thread-settings.ts';
import { fixedAmbient } from './turn-events.ts';

export const MINUTE = 60_000;

/** Pre-started turns on fake workers, and what was noted about them. */
export const preStarting = (max = 8, expected: string | null = null) => {
  const clock = { nowMs: 0, now: () => clock.nowMs };
  const relay = fakeRelay();
  const continuing = { works: true, onStopped() {} };
  const planDeps = { relay, settings: threadSettings(), ids: fixedAmbient().ids, clock, continuing };
  /** `waiting`: how many waited after each change. */
  const noted = { fates: [] as string[], misses: 0, waiting: [] as number[] };
  const idle: number[] = [];
  const turns = new PreStartedTurns({
    max,
    clock,
    start: (appServer, slug, thread) => Carrier.start(plainPlan(appServer, slug, thread, planDeps)),
    onEnd: (fate) => noted.fates.push(fate),
    expected: () => expected,
    onMiss() {
      noted.misses += 1;
    },
    onChange(waiting, idleThreads) {
      if (noted.waiting.at(-1) !== waiting && noted.waiting.length + waiting > 0) noted.waiting.push(waiting);
      idle.push(idleThreads);
    },
  });
  const worker = fakeWorker();
  return {
    turns,
    clock,
    relay,
    planDeps,
    worker,
    another: fakeWorker,
    noted,
    /** How many threads had no turn after each change. */
    idle: () => idle,
    /** A request of a caller. */
    ask: (slug: string, caller = 'one') => turns.take(worker.lease, slug, caller),
    taken: (one: Carrier | CarrierThread | null): string | null =>
      one === null ? null : one instanceof Carrier ? one.thread.threadId : one.threadId,
  };
};

/** The value, or that it is not there after everything that does not wait for us. */
export const tell = async <Value>(promise: Promise<Value>): Promise<Value | 'waits'> => {
  const waits = new Promise<'waits'>((resolve) => {
    setImmediate(() => resolve('waits'));
  });
  return Promise.race([promise, waits]);
};
