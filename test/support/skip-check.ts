import { onTestFinished, TestRunner } from 'vitest';

const marked = new WeakSet<object>();

/**
 * Reports the running test as skipped when it ends, because one of its checks cannot be made on this machine. The
 * rest of the test still runs, and a failure stays a failure.
 */
export const skipCheck = (reason: string): void => {
  const test = TestRunner.getCurrentTest();
  if (test === undefined || marked.has(test)) return;
  marked.add(test);
  onTestFinished(({ task, skip }) => {
    if (task.result?.state !== 'fail') skip(reason);
  });
};
