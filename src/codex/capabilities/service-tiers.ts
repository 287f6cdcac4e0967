import type { BackendProfile } from './profile.ts';

/** The backend's name of a tier; null if it has no such tier. */
export const backendTier = (tier: string | null, { tiers }: BackendProfile): string | null => {
  if (tier === null || tiers === null) return tier;
  const name = tier === 'fast' ? 'priority' : tier;
  return tiers.has(name) ? name : null;
};

/** Tiers that select the default. */
const DEFAULT_TIERS: ReadonlySet<string> = new Set(['auto', 'default']);

/** Whether the caller would notice a different tier. */
export const isSpecialTier = (tier: string | null): boolean => tier !== null && !DEFAULT_TIERS.has(tier);
