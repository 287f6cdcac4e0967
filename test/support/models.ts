import { unknownModel, type ModelInfo, type ModelList } from '../../src/canonical/models/model-names.ts';

/** A model of codex's catalogue with these facts; all others are unknown. */
export const knownModel = (id: string, facts: Partial<ModelInfo> = {}): ModelInfo => ({
  ...unknownModel(id),
  ...facts,
});

export const modelList = (models: readonly ModelInfo[], standard: string | null = null): ModelList => ({
  models,
  standard,
  unlisted: [],
});
