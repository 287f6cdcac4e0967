import { createAdmission } from '../src/turns/admission.ts';
import type { Burst, ProxySide } from './proxy-side.ts';
import type { Row } from './rows.ts';
import { quantile } from './statistics.ts';

/** Sends many more requests at once than are served at once. */
export const atOnce = async (side: ProxySide, requests: number): Promise<Row> => {
  const { served, refused, broken } = await side.burst(requests);
  const all = served.length + refused.length;
  return {
    figure: `${side.name}: ${requests} at once, served and refused (p50, p99)`,
    bare: `refused ${summary(refused)}`,
    proxy: `served ${summary(served)}`,
    ratio: `${broken} broken`,
    target: '0 broken',
    reached: broken === 0 && all === requests,
    numbers: {
      requests,
      broken,
      served: served.length,
      servedP50Ms: quantile(served, 0.5),
      servedP99Ms: quantile(served, 0.99),
      refused: refused.length,
      refusedP50Ms: quantile(refused, 0.5),
      refusedP99Ms: quantile(refused, 0.99),
    },
  };
};

const summary = (times: Burst['served']): string =>
  times.length === 0
    ? '0'
    : `${times.length} (${seconds(quantile(times, 0.5))}, ${seconds(quantile(times, 0.99))})`;

const seconds = (value: number): string => `${(value / 1000).toFixed(2)} s`;

const MAX_ADMISSION_MICROSECONDS = 20;

/** The cost of admission for a turn that does not wait. */
export const admissionCost = async (rounds: number): Promise<Row> => {
  const nothing = (): void => {};
  const admission = createAdmission({
    maxRunning: 256,
    isAdmin: () => true,
    maxQueued: 1024,
    queueTimeoutMs: 30_000,
    backgroundTimeoutMs: 30_000,
    clock: { now: () => Date.now() },
    onChange: nothing,
    onWaited: nothing,
    onRefused: nothing,
  });
  const { signal } = new AbortController();
  const run = async (): Promise<void> => {
    for (let round = 0; round < rounds; round += 1) {
      const [place] = await admission.enter({
        caller: 'bench',
        turns: 1,
        param: 'n',
        signal,
        isBackground: false,
      });
      place.leave();
    }
  };
  await run();
  const startedAt = performance.now();
  await run();
  const microseconds = ((performance.now() - startedAt) * 1000) / rounds;
  return {
    figure: 'admission of a turn that need not wait',
    bare: '',
    proxy: `${microseconds.toFixed(1)} µs`,
    ratio: '',
    target: `≤ ${MAX_ADMISSION_MICROSECONDS} µs`,
    reached: microseconds <= MAX_ADMISSION_MICROSECONDS,
    numbers: { rounds, microseconds },
  };
};
