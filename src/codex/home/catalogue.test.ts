import { describe, expect, it } from 'vitest';

import { knownModel } from '../../../test/support/models.ts';
import { agentCatalogue, cleanCatalogue, completeEntry, entriesOf } from './catalogue.ts';

const CLEAN = {
  tool_mode: 'direct',
  apply_patch_tool_type: null,
  shell_type: 'disabled',
  supports_parallel_tool_calls: true,
  supports_search_tool: false,
  experimental_supported_tools: [],
  multi_agent_version: null,
  truncation_policy: { mode: 'tokens', limit: 10_000_000 },
  context_window: 100_000_000,
  max_context_window: 100_000_000,
  base_instructions: '',
  model_messages: null,
  include_skills_usage_instructions: false,
  include_plugin_usage_instructions: false,
  include_apps_usage_instructions: false,
  default_verbosity: null,
  default_reasoning_level: null,
  default_reasoning_summary: 'none',
};

const SOL = {
  slug: 'gpt-6-sol',
  display_name: 'Sol',
  visibility: 'list',
  priority: 2,
  default_reasoning_level: 'low',
  supported_reasoning_levels: [{ effort: 'low', description: '' }],
  service_tiers: [{ id: 'priority', name: 'Fast', description: '' }],
  default_verbosity: 'low',
  shell_type: 'unified_exec',
  tool_mode: 'code_mode_only',
  upgrade: { model: 'gpt-7' },
  use_responses_lite: true,
  base_instructions: 'You are Codex',
  input_modalities: ['text', 'image'],
  context_window: 272_000,
  max_context_window: 872_000,
};
const EARS = {
  slug: 'ears',
  visibility: 'list',
  priority: 1,
  supported_in_api: false,
  input_modalities: ['text', 'audio'],
};
const BARE = { slug: 'bare' };

const { upgrade: _advice, ...solWithoutAdvice } = SOL;
const CLEAN_SOL = { ...solWithoutAdvice, ...CLEAN, input_modalities: ['text', 'image', 'audio'] };
const CLEAN_EARS = { ...EARS, ...CLEAN, use_responses_lite: false };
const CLEAN_BARE = {
  ...BARE,
  ...CLEAN,
  use_responses_lite: false,
  input_modalities: ['text', 'image', 'audio'],
};
const ANY_OTHER = {
  ...CLEAN,
  slug: '',
  display_name: 'any other model',
  description: null,
  visibility: 'hide',
  supported_in_api: true,
  priority: 1_000_000,
  supported_reasoning_levels: [],
  service_tiers: [{ id: 'priority', name: 'Fast', description: '' }],
  support_verbosity: true,
  supports_image_detail_original: true,
  use_responses_lite: false,
  input_modalities: ['text', 'image', 'audio'],
};

describe('cleanCatalogue', () => {
  it('removes what codex would add, keeps the rest, and has a Responses entry for each model of the codex format', () => {
    expect(JSON.parse(cleanCatalogue([SOL, EARS, BARE], 'chatgpt').json)).toEqual({
      models: [
        CLEAN_SOL,
        CLEAN_EARS,
        CLEAN_BARE,
        ANY_OTHER,
        { ...CLEAN_SOL, slug: 'gpt-6-sol--full', use_responses_lite: false, visibility: 'hide' },
      ],
    });
  });

  it('has no codex format for other backends', () => {
    const catalogue = cleanCatalogue([SOL, EARS], 'api');
    expect(JSON.parse(catalogue.json)).toEqual({
      models: [{ ...CLEAN_SOL, use_responses_lite: false }, CLEAN_EARS, ANY_OTHER],
    });
    expect([catalogue.usesCodexFormat('gpt-6-sol'), catalogue.responsesSlug('gpt-6-sol')]).toEqual([
      false,
      'gpt-6-sol',
    ]);
  });

  it('lists the real context window, efforts and tiers, in order', () => {
    const sol = knownModel('gpt-6-sol', {
      displayName: 'Sol',
      upgrade: 'gpt-7',
      efforts: ['low'],
      defaultEffort: 'low',
      serviceTiers: ['priority'],
      inputModalities: ['text', 'image'],
      contextWindow: 272_000,
      maxContextWindow: 872_000,
    });
    const ears = knownModel('ears', { inputModalities: ['text', 'audio'] });
    const bare = knownModel('bare');
    expect(cleanCatalogue([SOL, EARS, BARE], 'chatgpt').list).toEqual({
      models: [ears, sol],
      standard: 'ears',
      unlisted: [bare],
    });
    // One of them is for ChatGPT logins only.
    expect(cleanCatalogue([SOL, EARS, BARE], 'api').list).toEqual({
      models: [sol],
      standard: 'gpt-6-sol',
      unlisted: [ears, bare],
    });
  });
});

describe('agentCatalogue', () => {
  it('keeps what codex ships, and treats unlisted models as the standard model', () => {
    const changed = {
      tool_mode: 'direct',
      multi_agent_version: null,
      supports_search_tool: false,
      experimental_supported_tools: [],
      context_window: 100_000_000,
      max_context_window: 100_000_000,
      use_responses_lite: false,
    };
    expect(JSON.parse(agentCatalogue([BARE, SOL]))).toEqual({
      models: [
        { ...BARE, ...changed },
        { ...solWithoutAdvice, ...changed },
        {
          ...solWithoutAdvice,
          ...changed,
          slug: '',
          display_name: 'any other model',
          description: null,
          visibility: 'hide',
          supported_in_api: true,
          priority: 1_000_000,
        },
      ],
    });
  });
});

describe('request formats', () => {
  const catalogue = cleanCatalogue([SOL, { ...EARS, slug: 'gpt-6-sol-plain' }], 'chatgpt');

  // codex picks the longest slug that is a prefix of the name.
  it.each([
    ['gpt-6-sol', true, 'gpt-6-sol--full'],
    ['gpt-6-sol-2027', true, 'gpt-6-sol--full-2027'],
    ['gpt-6-sol-plain', false, 'gpt-6-sol-plain'],
    ['gpt-6-sol--full', false, 'gpt-6-sol--full'],
    ['gpt-6-so', false, 'gpt-6-so'],
    ['other', false, 'other'],
    ['', false, ''],
  ])('%s', (name, usesCodexFormat, responsesSlug) => {
    expect([catalogue.usesCodexFormat(name), catalogue.responsesSlug(name)]).toEqual([
      usesCodexFormat,
      responsesSlug,
    ]);
  });
});

describe('entriesOf', () => {
  it('skips entries without a name', () => {
    expect(entriesOf({ models: [BARE, {}, 1, { slug: '' }] })).toEqual([BARE]);
  });

  it.each([[null], [[]], [{}], [{ models: {} }]])('rejects %j', (bundled) => {
    expect(() => entriesOf(bundled)).toThrow('the model catalogue of codex');
  });
});

describe('completeEntry', () => {
  it('has all fields that codex requires', () => {
    expect(completeEntry({ slug: 'new', use_responses_lite: true })).toEqual({
      slug: 'new',
      display_name: 'new',
      description: null,
      visibility: 'list',
      supported_in_api: true,
      priority: 1_000_000,
      supported_reasoning_levels: [],
      service_tiers: [],
      support_verbosity: true,
      supports_image_detail_original: true,
      input_modalities: ['text', 'image'],
      use_responses_lite: true,
    });
  });
});
