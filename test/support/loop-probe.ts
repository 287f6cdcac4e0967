import { monitorEventLoopDelay } from 'node:perf_hooks';

/**
 * Loaded into the server by `--import`: measures how long its event loop was blocked. A signal requests the
 * figures since the last one.
 *
 * The longest block is measured in CPU time that the main thread used between two samples: on a busy machine
 * a process waits for the CPU, which says nothing about its own work. The histogram is wall-clock time.
 */
export interface LoopFigures {
  readonly longestBlockMs: number;
  readonly longestDelayMs: number;
}

export const FIGURES_MARK = 'loop figures: ';

const LOOK_EVERY_MS = 2;

const delays = monitorEventLoopDelay({ resolution: 5 });
delays.enable();

const usedMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

let last = usedMs();
let longest = 0;
setInterval(() => {
  const now = usedMs();
  longest = Math.max(longest, now - last);
  last = now;
}, LOOK_EVERY_MS).unref();

process.on('SIGUSR2', () => {
  const figures: LoopFigures = { longestBlockMs: longest, longestDelayMs: delays.max / 1e6 };
  longest = 0;
  delays.reset();
  process.stderr.write(`${FIGURES_MARK}${JSON.stringify(figures)}\n`);
});
