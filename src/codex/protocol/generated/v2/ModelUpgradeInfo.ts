// Generated from @openai/codex 0.166.0 (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

export type ModelUpgradeInfo = { model: string, upgradeCopy: string | null, modelLink: string | null, migrationMarkdown: string | null,
/**
 * Informational Unix timestamp for this upgrade's scheduled retirement, if known.
 */
retirementAt: number | null, };
