import type { ProgressReport } from '../../src/cli/progress.ts';

/** For commands whose progress is not tested. */
export const noProgress = (): ProgressReport => ({ show() {}, end() {} });
