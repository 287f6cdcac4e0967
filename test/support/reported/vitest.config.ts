import { defineConfig } from 'vitest/config';

/** Tests that are run by `reports.test.ts`, to see how they are reported. */
export default defineConfig({ test: { include: ['test/support/reported/some-tests.ts'] } });
