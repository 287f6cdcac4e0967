import { describe, expect, it } from 'vitest';

import { accountEntries, readAccountModels } from './account-list.ts';

describe('readAccountModels', () => {
  it('keeps fields that have an effect or are shown, and drops values that codex would reject', () => {
    const answer = {
      models: [
        {
          slug: 'gpt-9',
          display_name: 'Nine',
          visibility: 'list',
          priority: 3,
          supported_in_api: true,
          supported_reasoning_levels: [
            { effort: 'giga', description: 'much', more: 1 },
            { effort: 7 },
            'low',
          ],
          default_reasoning_level: 'giga',
          service_tiers: [{ id: 'priority', name: 'Fast', description: '2x' }, {}],
          input_modalities: ['text', 'smell'],
          context_window: 1_000,
          max_context_window: -1,
          use_responses_lite: true,
          shell_type: 'shell-of-tomorrow',
          base_instructions: 'You are Codex.',
          upgrade: null,
        },
        {
          slug: 'odd',
          visibility: 'sometimes',
          priority: 'high',
          use_responses_lite: 'yes',
          description: null,
        },
        { id: 'bare' },
        { slug: '' },
        'text',
        null,
      ],
    };
    expect(readAccountModels(answer)).toEqual([
      {
        slug: 'gpt-9',
        display_name: 'Nine',
        visibility: 'list',
        priority: 3,
        supported_in_api: true,
        supported_reasoning_levels: [
          { effort: 'giga', description: 'much' },
          { effort: 'low', description: '' },
        ],
        default_reasoning_level: 'giga',
        service_tiers: [{ id: 'priority', name: 'Fast', description: '2x' }],
        input_modalities: ['text'],
        context_window: 1_000,
        use_responses_lite: true,
      },
      { slug: 'odd', priority: 1 },
      { slug: 'bare', priority: 2 },
    ]);
  });

  it('accepts the same list under other field names', () => {
    const expected = [{ slug: 'a', priority: 0 }];
    expect([readAccountModels({ data: [{ id: 'a' }] }), readAccountModels([{ slug: 'a' }])]).toEqual([
      expected,
      expected,
    ]);
  });

  it.each([
    [null],
    ['text'],
    [{}],
    [{ models: {} }],
    [{ models: [] }],
    [{ models: [{ slug: 'secret', visibility: 'hide' }] }],
  ])('rejects %j', (answer) => {
    expect(readAccountModels(answer)).toBeNull();
  });

  it('limits the number of models', () => {
    const models = Array.from({ length: 1_000 }, (_, index) => ({ slug: `m${index}` }));
    expect(readAccountModels({ models })).toHaveLength(300);
  });
});

describe('a list that would keep every worker from starting', () => {
  it('loses lone surrogates: codex rejects a whole catalogue for one', () => {
    const models = [
      { slug: 'cut', description: `${'x'.repeat(1_999)}\u{1F600}` },
      { slug: 'half', display_name: '\ud800', supported_reasoning_levels: ['\udc00', 'low'] },
      { slug: 'nameless\ud800' },
    ];
    expect(readAccountModels({ models })).toEqual([
      { slug: 'cut', priority: 0, description: `${'x'.repeat(1_999)}\ufffd` },
      {
        slug: 'half',
        priority: 1,
        display_name: '\ufffd',
        supported_reasoning_levels: [{ effort: 'low', description: '' }],
      },
    ]);
  });

  it('names each model once, and reserves our suffix', () => {
    const models = [
      { slug: 'a', use_responses_lite: true },
      { slug: 'a', use_responses_lite: false },
      { slug: 'a--full' },
    ];
    expect(readAccountModels({ models })).toEqual([{ slug: 'a', priority: 0, use_responses_lite: true }]);
  });
});

describe('accountEntries', () => {
  it("merges the account's list over the bundled one, and hides models that it does not list", () => {
    const bundled = [
      {
        slug: 'gpt-5.5',
        display_name: 'GPT-5.5',
        visibility: 'hide',
        context_window: 5,
        use_responses_lite: false,
      },
      { slug: 'gpt-5', display_name: 'GPT-5', visibility: 'list' },
    ];
    const listed = [
      { slug: 'gpt-5.5', priority: 0, context_window: 6 },
      { slug: 'new', priority: 1 },
      { slug: 'gone', priority: 2, visibility: 'hide' },
    ];
    const completed = {
      description: null,
      visibility: 'list',
      supported_in_api: true,
      supported_reasoning_levels: [],
      service_tiers: [],
      support_verbosity: true,
      supports_image_detail_original: true,
      input_modalities: ['text', 'image'],
      use_responses_lite: false,
    };
    expect(accountEntries(listed, bundled)).toEqual([
      {
        slug: 'gpt-5.5',
        display_name: 'GPT-5.5',
        visibility: 'list',
        priority: 0,
        context_window: 6,
        use_responses_lite: false,
      },
      { ...completed, slug: 'new', display_name: 'new', priority: 1 },
      { ...completed, slug: 'gone', display_name: 'gone', priority: 2, visibility: 'hide' },
      { slug: 'gpt-5', display_name: 'GPT-5', visibility: 'hide' },
    ]);
  });
});
