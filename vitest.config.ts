import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    // Tests that run the real app-server share two cores: a generous limit keeps a slow
    // machine from turning green tests red. No test asserts a duration.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
