import { defineConfig } from 'vitest/config';

/** Tests that are run by `skip-report.test.ts`, to see how they are reported. */
export default defineConfig({ test: { include: ['test/support/skipped/some-skipped.ts'] } });
