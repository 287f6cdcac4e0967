import { besideModule, createThreadPool } from '../threads/thread-pool.ts';
import type { DemoJob, DemoOptions, DemoStep } from './demo-script.ts';

const TIMEOUT_MS = 1_000;
/** Covers the start of the thread, which the first request waits for. */
const WAIT_MS = 5_000;
const MAX_WAITING = 256;
/** More than a job can allocate before its timeout: see `maxMemoryMb`. */
const MAX_MEMORY_MB = 1_024;

/** A backend does not know which client a request is from, so all jobs share one queue. */
const ANY_CALLER = '';

/** Runs the demo model in a thread, because a client's schema can take arbitrarily long to sample. */
export const createDemoThread = (): Required<Pick<DemoOptions, 'computeSteps'>> & {
  close(): Promise<void>;
} => {
  const pool = createThreadPool<DemoJob, readonly DemoStep[]>({
    file: besideModule(import.meta.url, 'demo-thread'),
    threads: 1,
    timeoutMs: TIMEOUT_MS,
    waitMs: WAIT_MS,
    maxWaiting: MAX_WAITING,
    maxMemoryMb: MAX_MEMORY_MB,
  });
  return {
    async computeSteps(job) {
      const outcome = await pool.run(job, ANY_CALLER);
      return outcome.kind === 'done' ? outcome.result : null;
    },
    close: () => pool.close(),
  };
};
