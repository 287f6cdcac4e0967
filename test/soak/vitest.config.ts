import { defineConfig } from 'vitest/config';

/** The long form; the short one is an ordinary test. */
export default defineConfig({ test: { include: ['test/soak/thousands.ts'], hookTimeout: 60_000 } });
