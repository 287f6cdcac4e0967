import type { ThreadSettings } from '../../src/codex/translate/thread-start.ts';

/** Default thread settings with a test's changes. */
export const threadSettings = (different: Partial<ThreadSettings> = {}): ThreadSettings => ({
  instructionsTarget: 'base',
  sandboxMode: 'read-only',
  approvalPolicy: 'never',
  workdir: '/work',
  knows: () => true,
  ...different,
});
