import type { ThreadSettings } from '../../codex/translate/thread-start.ts';
import type { AttemptDeps } from '../attempt/attempt-deps.ts';
import type { DraftDeps } from '../plan/draft-turn.ts';

/** What every driver needs. */
export interface DriverDeps
  extends Omit<AttemptDeps, 'graceMs'>, Pick<DraftDeps, 'historyRules' | 'effortsOf'> {
  readonly settings: ThreadSettings;
}
