import { parentPort } from 'node:worker_threads';

/** The inner side of a thread: does one job after the other. What it throws ends the thread. */
export const serveJobs = (handle: (job: never) => unknown): void => {
  parentPort?.on('message', (job: unknown) => parentPort?.postMessage({ result: handle(job as never) }));
  parentPort?.postMessage('ready');
};
