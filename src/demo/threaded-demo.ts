import { besideModule, createThreadPool, type ThreadTimes } from '../threads/thread-pool.ts';
import type { DemoJob, DemoOptions, DemoStep } from './demo-script.ts';

/**
 * A thread for the demo model: clients send the schemas that it makes up values for. `times` are those of one answer,
 * where they differ from the usual ones.
 */
export const createDemoThread = (
  times: Partial<ThreadTimes> = {},
): Required<Pick<DemoOptions, 'computeSteps'>> & {
  close(): Promise<void>;
} => {
  const pool = createThreadPool<DemoJob, readonly DemoStep[]>({
    file: besideModule(import.meta.url, 'demo-thread'),
    threads: 1,
    timeoutMs: 1_000,
    waitMs: 5_000,
    maxWaiting: 256,
    ...times,
  });
  return {
    async computeSteps(job) {
      // A backend does not know who sends its requests.
      const outcome = await pool.run(job, '');
      return outcome.kind === 'done' ? outcome.result : null;
    },
    close: () => pool.close(),
  };
};
