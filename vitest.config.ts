import { availableParallelism } from 'node:os';

import { defineConfig } from 'vitest/config';

import { bundleThreads } from './test/support/bundle-threads.ts';

/** They measure the event loop, what is left behind, or deadlines of our own: each needs a core for itself. */
const TIMED = [
  'src/turns/format/check-format.test.ts',
  'src/kit/async/event-loop.test.ts',
  'src/threads/*.test.ts',
  'test/faults/event-loop.test.ts',
  'test/faults/time-limits.test.ts',
];

/** The same for many faults and requests at once. They take longest, so they begin first. */
const STORMS = ['test/chaos/*.test.ts', 'test/soak/*.test.ts'];

/** It replaces a module (`vi.mock`), so it needs a process of its own. */
const MOCKED = ['test/faults/unstored-answers.test.ts'];

/** They start no app-server: `npm run test:unit` runs these. */
const UNIT = [
  'src/**/!(real-*).test.ts',
  'console/src/**/*.test.ts',
  'test/architecture/*.test.ts',
  'test/contracts/*.test.ts',
  'test/laws/!(exactness*|carried-turns).test.ts',
  'test/pins/*.test.ts',
  'test/scenarios/*.test.ts',
  'test/support/*.test.ts',
];

/** They run together. Half of their time is spent waiting, so four run at once even on two cores. */
const together = { maxWorkers: Math.max(4, availableParallelism() - 1), sequence: { groupOrder: 1 } };

/** They run after all others. */
const last = { maxWorkers: 2, sequence: { groupOrder: 2 } };

export default defineConfig({
  plugins: [bundleThreads()],
  test: {
    reporters: ['default', './test/support/skip-report.ts'],
    // Tests that run the real app-server share two cores: a generous limit keeps a slow
    // machine from turning green tests red. No test asserts a duration.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // The usual second is short on a busy machine. What never comes fails all the same.
    expect: { poll: { timeout: 30_000 } },
    // The files of one group run in the order of these names: the slow ones come first.
    projects: [
      { extends: true, test: { name: 'mocked', include: MOCKED, ...together } },
      {
        extends: true,
        test: {
          name: 'product',
          include: ['test/**/*.test.ts', 'src/**/real-*.test.ts'],
          exclude: [...TIMED, ...STORMS, ...MOCKED, ...UNIT],
          globalSetup: ['./test/support/build-console.ts'],
          // Files share the modules of their process: loading them again took a quarter of the time.
          isolate: false,
          ...together,
        },
      },
      { extends: true, test: { name: 'unit', include: UNIT, exclude: TIMED, isolate: false, ...together } },
      { extends: true, test: { name: 'storms', include: STORMS, isolate: false, ...last } },
      { extends: true, test: { name: 'timed', include: TIMED, isolate: false, ...last } },
    ],
  },
});
