import { parentPort } from 'node:worker_threads';

/** Runs in a thread: handles one job after the other. An error ends the thread. */
export const serveJobs = (handle: (job: never) => unknown): void => {
  const serve = async (job: unknown): Promise<void> => {
    const result = await handle(job as never);
    parentPort?.postMessage({ result });
  };
  parentPort?.on('message', (job: unknown) => void serve(job));
  parentPort?.postMessage('ready');
};
