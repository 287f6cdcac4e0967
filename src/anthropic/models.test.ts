import type { ModelCapabilities, ModelInfo } from '@anthropic-ai/sdk/resources/models';
import { describe, expect, it } from 'vitest';

import { knownModel } from '../../test/support/models.ts';
import { failureOf } from '../canonical/failure/failure.ts';
import { createModelNames, unknownModel } from '../canonical/models/model-names.ts';
import { projectAnthropicModels, projectAnthropicModel, findModel } from './models.ts';

const NAMES = createModelNames(
  {
    models: [
      knownModel('gpt-5.5', {
        displayName: 'GPT-5.5',
        created: 1_780_000_000,
        contextWindow: 272_000,
        maxOutputTokens: 128_000,
        efforts: ['low', 'xhigh'],
        inputModalities: ['text', 'image'],
      }),
      knownModel('anthropic/claude-sonnet-4', { created: 1e20 }),
    ],
    standard: 'gpt-5.5',
    unlisted: [],
  },
  { 'claude-best': 'gpt-5.5-low', far: 'gpt-9' },
);

const [NO, YES] = [{ supported: false }, { supported: true }];
const CAPABILITIES: ModelCapabilities = {
  batch: NO,
  citations: NO,
  code_execution: NO,
  context_management: {
    supported: false,
    clear_thinking_20251015: NO,
    clear_tool_uses_20250919: NO,
    compact_20260112: NO,
  },
  effort: { supported: true, low: YES, medium: NO, high: NO, xhigh: YES, max: NO },
  image_input: YES,
  pdf_input: NO,
  server_tools: { supported: true, code_execution: NO, web_search: YES },
  structured_outputs: YES,
  thinking: { supported: true, types: { adaptive: YES, between_tools: YES, disabled: YES, enabled: YES } },
};

const GPT: ModelInfo = {
  type: 'model',
  id: 'gpt-5.5',
  display_name: 'GPT-5.5',
  created_at: '2026-05-28T20:26:40.000Z',
  max_input_tokens: 272_000,
  max_tokens: 128_000,
  lifecycle: 'active',
  line: null,
  capabilities: CAPABILITIES,
  deprecated_at: null,
  retires_at: null,
};
const IDS = [
  'gpt-5.5',
  'anthropic/claude-sonnet-4',
  'gpt-5.5-low',
  'gpt-5.5-xhigh',
  'codex-5',
  'codex-5-low',
  'codex-5-xhigh',
  'claude-best',
  'far',
  'claude-gpt-5.5',
];

const page = (query: string) => {
  const { data, ...rest } = projectAnthropicModels(NAMES, new URLSearchParams(query));
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
    const { data } = projectAnthropicModels(NAMES, new URLSearchParams('limit=2'));
    expect(data).toEqual([
      GPT,
      {
        ...GPT,
        id: 'anthropic/claude-sonnet-4',
        display_name: 'anthropic/claude-sonnet-4',
        created_at: '1970-01-01T00:00:00.000Z',
        max_input_tokens: null,
        max_tokens: null,
        capabilities: null,
      },
    ]);
  });

  it('says what is known of a model, and the window that it has at the most', () => {
    const names = createModelNames({
      models: [
        knownModel('wide', { contextWindow: 272_000, maxContextWindow: 1_000_000 }),
        knownModel('files', { inputModalities: ['text', 'file'], contextWindow: 1_000_000 }),
      ],
      standard: null,
      unlisted: [],
    });
    const { data } = projectAnthropicModels(names, new URLSearchParams());
    expect(
      data.slice(0, 2).map(({ max_input_tokens, capabilities }) => [max_input_tokens, capabilities]),
    ).toEqual([
      [1_000_000, null],
      [
        1_000_000,
        {
          ...CAPABILITIES,
          effort: { supported: false, low: NO, medium: NO, high: NO, xhigh: NO, max: NO },
          image_input: NO,
          pdf_input: YES,
          server_tools: { supported: false, code_execution: NO, web_search: NO },
          thinking: { ...CAPABILITIES.thinking, supported: false },
        },
      ],
    ]);
  });

  it.each([
    ['limit=3', IDS.slice(0, 3), true],
    ['limit=3&after_id=codex-5', IDS.slice(5, 8), true],
    ['limit=3&after_id=codex-5-xhigh&before_id=', IDS.slice(7), false],
    ['limit=2&before_id=codex-5', IDS.slice(2, 4), true],
    ['limit=1000&before_id=codex-5', IDS.slice(0, 4), false],
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
    expect(projectAnthropicModel(NAMES, id)).toEqual(model);
  });

  it('does not find a model that the backend does not list', () => {
    expect(thrownBy(() => projectAnthropicModel(NAMES, 'gpt-9'))).toEqual([
      'model_not_found',
      'model',
      'model: gpt-9',
    ]);
    expect(projectAnthropicModel(NAMES, 'far').id).toBe('far');
  });
});

const LIST = {
  models: [
    knownModel('gpt-5.5', { efforts: ['low', 'high'], serviceTiers: ['priority'] }),
    knownModel('gpt-5.5-mini', { efforts: [] }),
    knownModel('anthropic/claude-sonnet-4', { efforts: [] }),
  ],
  standard: 'gpt-5.5',
  unlisted: [knownModel('gpt-4', { efforts: [] })],
};
const MODEL_NAMES = createModelNames(LIST, { 'claude-opus-5-5': 'gpt-5.5-high', sonnet: 'gpt-5.5-mini' });

const plain = (model: string) => ({ model, effort: null, serviceTier: null });

describe('findModel', () => {
  it.each([
    // Configured aliases and listed models come first.
    ['claude-opus-5-5', { ...plain('gpt-5.5'), effort: 'high' }],
    ['claude-opus-5-5[1m]', { ...plain('gpt-5.5'), effort: 'high' }],
    ['sonnet', plain('gpt-5.5-mini')],
    ['gpt-5.5', plain('gpt-5.5')],
    ['anthropic/claude-sonnet-4', plain('anthropic/claude-sonnet-4')],
    ['claude-gpt-5.5', plain('gpt-5.5')],
    ['claude-gpt-5.5-mini', plain('gpt-5.5-mini')],
    ['anthropic/claude-gpt-5.5-low-fast', { ...plain('gpt-5.5'), effort: 'low', serviceTier: 'priority' }],
    ['claude-sonnet', plain('gpt-5.5-mini')],
    ['claude-gpt-4', plain('gpt-4')],
    ['claude-haiku-5-5', plain('gpt-5.5-mini')],
    ['us.anthropic.Claude-3-5-Haiku-20241022-v1:0', plain('gpt-5.5-mini')],
    ['claude-sonnet-5-5', plain('gpt-5.5')],
    ['claude-sonnet-5-5[1m]', plain('gpt-5.5')],
    ['anthropic/claude-opus-4', plain('gpt-5.5')],
    ['CLAUDE', plain('gpt-5.5')],
    // The backend decides about other names.
    ['llama-4', plain('llama-4')],
    ['llama-4[1m]', plain('llama-4')],
    ['gpt-4', plain('gpt-4')],
  ])('%s', (asked, meaning) => {
    const info = [...LIST.models, ...LIST.unlisted].find(({ id }) => id === meaning.model);
    expect(findModel(MODEL_NAMES, asked)).toEqual({
      id: asked,
      meaning,
      info: info ?? unknownModel(meaning.model),
    });
  });

  it('sends a Claude name to a backend whose models are unknown', () => {
    const names = createModelNames({ models: [], standard: null, unlisted: [] });
    expect(findModel(names, 'claude-haiku-5-5').meaning).toEqual(plain('claude-haiku-5-5'));
  });
});
