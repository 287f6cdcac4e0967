import type { ResponseMeta } from '../../src/openai/responses/output/project.ts';

/** What stands around the items of a response, and what a test wants different. */
export const responseMeta = (different: Partial<ResponseMeta> = {}): ResponseMeta => ({
  id: 'resp_1',
  createdAt: 1_800_000_000,
  given: { model: 'gpt-5.5' },
  tools: [],
  effort: null,
  serviceTier: null,
  includeEncryptedReasoning: true,
  usagePolicy: 'exact',
  isForCodex: false,
  ...different,
});
