import { besideModule, createThreadPool } from '../threads/thread-pool.ts';
import type { DemoJob, DemoOptions, DemoStep } from './demo-script.ts';

const TIMEOUT_MS = 1_000;
/** The first one who comes waits until the thread is there. */
const WAIT_MS = 5_000;
const MAX_WAITING = 256;
/** More than anything fills in its time: see `maxMemoryMb`. */
const MAX_MEMORY_MB = 1_024;

/** The demo model stands in for a backend, which does not know whose requests it gets. */
const NOBODY = '';

/** A thread for the demo model: the schemas that it makes up values for are programs of strangers. */
export const createDemoThread = (): Required<Pick<DemoOptions, 'think'>> & { close(): Promise<void> } => {
  const pool = createThreadPool<DemoJob, readonly DemoStep[]>({
    file: besideModule(import.meta.url, 'demo-thread'),
    threads: 1,
    timeoutMs: TIMEOUT_MS,
    waitMs: WAIT_MS,
    maxWaiting: MAX_WAITING,
    maxMemoryMb: MAX_MEMORY_MB,
  });
  return {
    async think(job) {
      const outcome = await pool.run(job, NOBODY);
      return outcome.kind === 'done' ? outcome.result : null;
    },
    close: () => pool.close(),
  };
};
