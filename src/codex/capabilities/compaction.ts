import type { BackendTarget } from '../home/backend.ts';

/**
 * Whether a backend compacts conversations. `native`: yes, and only it can read the result. `none`: no.
 * `unknown`: never asked to; compaction items from clients are passed on to it.
 */
export type CompactionSupport = 'native' | 'none' | 'unknown';

/** `canAsk`: whether requests can carry the item that requests a compaction, and the backend knows it. */
export const compactionOf = ({ kind }: BackendTarget, canAsk: boolean): CompactionSupport => {
  if (kind === 'demo') return 'none';
  return canAsk ? 'native' : 'unknown';
};
