import type { ThreadSettings } from '../../src/codex/translate/thread-start.ts';

/** A deployment that changes nothing, and what a test wants different. */
export const threadSettings = (different: Partial<ThreadSettings> = {}): ThreadSettings => ({
  instructionsTarget: 'base',
  sandboxMode: 'read-only',
  approvalPolicy: 'never',
  workdir: '/work',
  hasRelay: false,
  knows: () => true,
  ...different,
});
