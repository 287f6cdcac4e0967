import type { BackendTarget } from '../home/backend.ts';
import type { BackendProfile } from './profile.ts';

/**
 * Whether a backend compacts conversations. `native`: yes, and only it can read the result. `none`: no.
 * `unknown`: never asked to; compaction items from clients are passed on to it.
 */
export type CompactionSupport = 'native' | 'none' | 'unknown';

/** `profile` is null without a relay; only the relay can request a compaction. */
export const compactionOf = (
  { kind }: BackendTarget,
  profile: Pick<BackendProfile, 'takes'> | null,
): CompactionSupport => {
  if (kind === 'demo') return 'none';
  return profile?.takes.has('compaction_trigger') === true ? 'native' : 'unknown';
};
