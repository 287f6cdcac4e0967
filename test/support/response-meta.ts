import type { ResponseMeta } from '../../src/openai/responses/output/project.ts';

/** The response fields around the items, and a test's changes. */
export const responseMeta = (different: Partial<ResponseMeta> = {}): ResponseMeta => ({
  id: 'resp_1',
  createdAt: 1_800_000_000,
  echo: { model: 'gpt-5.5' },
  tools: [],
  effort: null,
  serviceTier: null,
  includeEncryptedReasoning: true,
  usagePolicy: 'exact',
  isForCodex: false,
  isStored: false,
  isBackground: false,
  continues: null,
  ...different,
});
