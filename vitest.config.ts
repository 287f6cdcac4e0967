import { availableParallelism } from 'node:os';

import { defineConfig } from 'vitest/config';

/** They measure the event loop, memory or deadlines of our own: they need the machine for themselves. */
const ALONE = [
  'src/turns/format/check-format.test.ts',
  'src/kit/async/event-loop.test.ts',
  'src/threads/*.test.ts',
  'test/chaos/*.test.ts',
  'test/faults/event-loop.test.ts',
  'test/faults/memory.test.ts',
  'test/faults/time-limits.test.ts',
  'test/soak/*.test.ts',
];

export default defineConfig({
  test: {
    // Tests that run the real app-server share two cores: a generous limit keeps a slow
    // machine from turning green tests red. No test asserts a duration.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'together',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: ALONE,
          // Most of their time is spent waiting, so three run at once even on two cores.
          maxWorkers: Math.max(3, availableParallelism() - 1),
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: { name: 'alone', include: ALONE, maxWorkers: 1, sequence: { groupOrder: 2 } },
      },
    ],
  },
});
