import type { UsageRow } from '../../src/features/usage/store.ts';
import { NO_USAGE } from '../../src/features/usage/usage-counts.ts';

/** A row of one answered request. */
export const usageRow = (id: string, different: Partial<UsageRow> = {}): UsageRow => ({
  ...NO_USAGE,
  id,
  hour: 0,
  keyId: 'key',
  model: 'gpt',
  client: 'codex',
  requests: 1,
  inputTokens: 10,
  outputTokens: 1,
  durationMs: 100,
  firstEvents: '10:1',
  durations: '20:1',
  expiresAt: Number.MAX_SAFE_INTEGER,
  ...different,
});
