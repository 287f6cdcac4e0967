import type { BackendProfile } from './profile.ts';

/** The tier by the backend's name for it; null: the backend has no such tier. */
export const backendTier = (tier: string | null, { tiers }: BackendProfile): string | null => {
  if (tier === null || tiers === null) return tier;
  const name = tier === 'fast' ? 'priority' : tier;
  return tiers.has(name) ? name : null;
};

/** These ask for what happens anyway. */
const DEFAULT_TIERS: ReadonlySet<string> = new Set(['auto', 'default']);

/** Whether the caller would notice another tier. */
export const isSpecialTier = (tier: string | null): boolean => tier !== null && !DEFAULT_TIERS.has(tier);
