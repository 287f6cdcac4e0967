import { GatewayError } from '../canonical/failure/failure.ts';
import { pause } from '../kit/async/wait.ts';

/** No client waits for the end of a background response or of a reservation, so it waits until the database is back. */
const FOR_MS = 60_000;
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 5_000;

/** Does something with the store, and again for a while if the store is unavailable. */
export const insistently = async <Value>(work: () => Promise<Value>, signal: AbortSignal): Promise<Value> => {
  const startedAt = performance.now();
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!isPassing(error) || performance.now() - startedAt > FOR_MS) throw error;
    }
    await pause(pauseMs, signal);
  }
};

/** Whether the store may do the same later. */
export const isPassing = (error: unknown): boolean =>
  error instanceof GatewayError && error.failure.kind === 'store_unavailable';
