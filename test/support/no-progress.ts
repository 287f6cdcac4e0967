import type { Progress } from '../../src/cli/progress.ts';

/** For commands whose progress is not tested. */
export const noProgress = (): Progress => ({ show() {}, end() {} });
