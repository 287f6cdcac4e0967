import { parentPort } from 'node:worker_threads';

/** The inner side of a thread: does one job after the other. What it throws ends the thread. */
export const serveJobs = (handle: (job: never) => unknown): void => {
  const serve = async (job: unknown): Promise<void> => {
    const result = await handle(job as never);
    parentPort?.postMessage({ result });
  };
  parentPort?.on('message', (job: unknown) => void serve(job));
  parentPort?.postMessage('ready');
};
