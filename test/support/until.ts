import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for a condition; the test's timeout limits it. */
export const until = async (condition: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await condition())) await sleep(20);
};
