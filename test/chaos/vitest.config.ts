import { defineConfig } from 'vitest/config';

/** The long form; the short one is an ordinary test. */
export default defineConfig({
  test: { include: ['test/chaos/two-hundred.ts', 'test/chaos/ten-minutes.ts'], fileParallelism: false },
});
