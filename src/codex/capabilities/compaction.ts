import type { BackendTarget } from '../home/backend.ts';
import type { BackendProfile } from './profile.ts';

/**
 * Whether a backend compacts conversations. `native`: it does, and what it has made only it can read. `none`: it has
 * nothing like it. `unknown`: it is not asked to, and what a client has of the kind is left to it.
 */
export type CompactionSupport = 'native' | 'none' | 'unknown';

/** `profile` is null without a relay, which alone can ask for a compaction. */
export const compactionOf = (
  { kind }: BackendTarget,
  profile: Pick<BackendProfile, 'takes'> | null,
): CompactionSupport => {
  if (kind === 'demo') return 'none';
  return profile?.takes.has('compaction_trigger') === true ? 'native' : 'unknown';
};
