import type { CallingAnswer } from './restore-reasoning.ts';

/**
 * Keeps remembered answers for other instances and for the time after a restart. Losing one costs quality, never content, so
 * nothing here fails, and only `load` is waited for, for a moment at most.
 */
export interface SharedReasoning {
  /** The known answers. The same object for all keys of one answer. */
  load(keys: readonly string[]): Promise<ReadonlyMap<string, CallingAnswer>>;
  save(keys: readonly string[], answer: CallingAnswer): void;
  /** The answer was needed, so it lives longer. */
  renew(keys: readonly string[], answer: CallingAnswer): void;
  drop(keys: readonly string[]): void;
}
