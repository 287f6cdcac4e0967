import { serveJobs } from '../../src/threads/serve-jobs.ts';
import type { TestJob } from '../../src/threads/thread-pool.test.ts';

/** Referenced, so that it is not collected. */
const eaten: number[][] = [];

serveJobs((job: TestJob): string => {
  if ('say' in job) return job.say;
  if ('die' in job) process.exit(1);
  if ('eat' in job) for (;;) eaten.push(Array.from({ length: 100_000 }, (_, index) => index));
  for (;;);
});
