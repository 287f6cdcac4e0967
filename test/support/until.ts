import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for what must come; the time limit of the test is the way out. */
export const until = async (condition: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await condition())) await sleep(20);
};
