import { describe, expect, it } from 'vitest';

import { knownModel } from '../../test/support/models.ts';
import { failureOf } from '../canonical/failure/failure.ts';
import { createModelNames } from '../canonical/models/model-names.ts';
import { projectModels, projectOneModel } from './models.ts';

const NAMES = createModelNames(
  {
    models: [
      knownModel('gpt-5.5', {
        displayName: 'GPT-5.5',
        created: 1_780_000_000,
        contextWindow: 272_000,
        maxOutputTokens: 128_000,
        efforts: ['low'],
      }),
      knownModel('anthropic/claude-sonnet-4', { created: 1e20 }),
    ],
    standard: 'gpt-5.5',
    unlisted: [],
  },
  { 'claude-best': 'gpt-5.5-low', far: 'gpt-9' },
);

const GPT = {
  type: 'model',
  id: 'gpt-5.5',
  display_name: 'GPT-5.5',
  created_at: '2026-05-28T20:26:40.000Z',
  max_input_tokens: 272_000,
  max_tokens: 128_000,
  lifecycle: 'active',
  line: null,
  capabilities: null,
  deprecated_at: null,
  retires_at: null,
};
const IDS = [
  'gpt-5.5',
  'anthropic/claude-sonnet-4',
  'gpt-5.5-low',
  'codex-5',
  'codex-5-low',
  'claude-best',
  'far',
  'claude-gpt-5.5',
];

const page = (query: string) => {
  const { data, ...rest } = projectModels(NAMES, new URLSearchParams(query));
  return { ids: data.map(({ id }) => id), ...rest };
};

const thrownBy = (run: () => unknown): unknown => {
  try {
    return run();
  } catch (error) {
    const { kind, param, message } = failureOf(error);
    return [kind, param, message];
  }
};

describe('projectModels', () => {
  it('lists models and aliases, and a Claude name for each model', () => {
    expect(page('')).toEqual({
      ids: IDS,
      has_more: false,
      first_id: 'gpt-5.5',
      last_id: 'claude-gpt-5.5',
    });
    const { data } = projectModels(NAMES, new URLSearchParams('limit=2'));
    expect(data).toEqual([
      GPT,
      {
        ...GPT,
        id: 'anthropic/claude-sonnet-4',
        display_name: 'anthropic/claude-sonnet-4',
        created_at: '1970-01-01T00:00:00.000Z',
        max_input_tokens: null,
        max_tokens: null,
      },
    ]);
  });

  it.each([
    ['limit=3', IDS.slice(0, 3), true],
    ['limit=3&after_id=codex-5', IDS.slice(4, 7), true],
    ['limit=3&after_id=codex-5-low&before_id=', IDS.slice(5), false],
    ['limit=2&before_id=codex-5', IDS.slice(1, 3), true],
    ['limit=1000&before_id=codex-5', IDS.slice(0, 3), false],
    ['after_id=claude-gpt-5.5', [], false],
  ])('gives the page %s', (query, ids, hasMore) => {
    expect(page(query)).toEqual({
      ids,
      has_more: hasMore,
      first_id: ids[0] ?? null,
      last_id: ids.at(-1) ?? null,
    });
  });

  it.each([
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['limit=many', 'limit'],
    ['after_id=none', 'after_id'],
    ['before_id=none', 'before_id'],
    ['before_id=far&after_id=far', 'before_id'],
  ])('rejects %s', (query, param) => {
    expect(thrownBy(() => page(query))).toEqual([
      expect.stringMatching(/^invalid_/),
      param,
      expect.any(String),
    ]);
  });
});

describe('projectOneModel', () => {
  it.each([
    ['gpt-5.5', GPT],
    ['claude-gpt-5.5', { ...GPT, id: 'claude-gpt-5.5' }],
    ['claude-opus-5-5', { ...GPT, id: 'claude-opus-5-5', display_name: 'claude-opus-5-5' }],
  ])('finds %s', (id, model) => {
    expect(projectOneModel(NAMES, id)).toEqual(model);
  });

  it('does not find a model that the backend does not list', () => {
    expect(thrownBy(() => projectOneModel(NAMES, 'gpt-9'))).toEqual([
      'model_not_found',
      'model',
      'model: gpt-9',
    ]);
    expect(projectOneModel(NAMES, 'far').id).toBe('far');
  });
});
