import { describe, expect, it } from 'vitest';

import { cleanCatalogue } from './catalogue.ts';

const CLEAN = {
  tool_mode: 'direct',
  apply_patch_tool_type: null,
  shell_type: 'disabled',
  supports_parallel_tool_calls: true,
  supports_search_tool: false,
  experimental_supported_tools: [],
  multi_agent_version: null,
  truncation_policy: { mode: 'tokens', limit: 10_000_000 },
  base_instructions: '',
  model_messages: null,
  include_skills_usage_instructions: false,
  include_plugin_usage_instructions: false,
  include_apps_usage_instructions: false,
  default_verbosity: null,
  default_reasoning_level: null,
  default_reasoning_summary: 'none',
};

describe('cleanCatalogue', () => {
  it("empties what codex would add, and keeps the rest of a model's entry", () => {
    const bundled = {
      models: [
        {
          slug: 'gpt-6-sol',
          default_reasoning_level: 'low',
          default_verbosity: 'low',
          shell_type: 'unified_exec',
          tool_mode: 'code_mode_only',
          upgrade: { model: 'gpt-7' },
          use_responses_lite: true,
          base_instructions: 'You are Codex',
          input_modalities: ['text', 'image'],
          context_window: 272_000,
        },
        { slug: 'deaf-no-more', input_modalities: ['text', 'audio'], use_responses_lite: false },
        { slug: 'bare' },
      ],
    };
    expect(cleanCatalogue(bundled)).toEqual({
      models: [
        {
          slug: 'gpt-6-sol',
          use_responses_lite: true,
          context_window: 272_000,
          ...CLEAN,
          input_modalities: ['text', 'image', 'audio'],
        },
        { slug: 'deaf-no-more', use_responses_lite: false, ...CLEAN, input_modalities: ['text', 'audio'] },
        { slug: 'bare', ...CLEAN, input_modalities: ['text', 'image', 'audio'] },
      ],
    });
  });

  it.each([[null], [[]], [{}], [{ models: {} }]])('refuses %j', (bundled) => {
    expect(() => cleanCatalogue(bundled)).toThrow('the model catalogue of codex');
  });
});
