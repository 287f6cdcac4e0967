import { describe, expect, it } from 'vitest';

import { knownModel } from '../../../test/support/models.ts';
import { createModelNames, unknownModel } from '../../canonical/models/model-names.ts';
import { projectModels, projectOneModel } from './project.ts';

const names = createModelNames({
  models: [
    knownModel('gpt-6', {
      displayName: 'GPT-6',
      efforts: ['low'],
      defaultEffort: 'low',
      serviceTiers: ['priority'],
      inputModalities: ['text', 'image'],
      contextWindow: 272_000,
      maxContextWindow: 872_000,
      maxOutputTokens: 128_000,
    }),
    { ...unknownModel('llama'), ownedBy: 'meta', created: 1_700_000_000 },
  ],
  standard: 'llama',
  unlisted: [],
});

const GPT_6 = {
  id: 'gpt-6',
  object: 'model',
  created: 0,
  owned_by: 'codex',
  display_name: 'GPT-6',
  context_window: 272_000,
  max_context_window: 872_000,
  max_output_tokens: 128_000,
  input_modalities: ['text', 'image'],
  reasoning_efforts: ['low'],
  default_reasoning_effort: 'low',
  service_tiers: ['priority'],
};
const LLAMA = { id: 'llama', object: 'model', created: 1_700_000_000, owned_by: 'meta' };

describe('projectModels', () => {
  it("has OpenAI's fields, known metadata, and the model of an alias", () => {
    expect(projectModels(names)).toEqual({
      object: 'list',
      data: [
        GPT_6,
        LLAMA,
        { ...GPT_6, id: 'gpt-6-low', alias_of: 'gpt-6' },
        { ...GPT_6, id: 'gpt-6-fast', alias_of: 'gpt-6', default_service_tier: 'priority' },
        { ...LLAMA, id: 'codex-5', alias_of: 'llama' },
      ],
    });
  });

  it('finds a model by name, even if it is not listed', () => {
    expect([projectOneModel(names, 'llama'), projectOneModel(names, 'gpt-6-low-fast')]).toEqual([
      LLAMA,
      { ...GPT_6, id: 'gpt-6-low-fast', alias_of: 'gpt-6', default_service_tier: 'priority' },
    ]);
    expect(() => projectOneModel(names, 'nope')).toThrow("The model 'nope' does not exist.");
  });
});
