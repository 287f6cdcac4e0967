import { describe, expect, it } from 'vitest';

import { createModelNames } from './model-names.ts';

const NAMES = createModelNames([
  { id: 'gpt-5.5', efforts: ['low', 'high'], isDefault: false },
  { id: 'gpt-6', efforts: ['low', 'max'], isDefault: true },
  { id: 'gpt-6-low', efforts: [], isDefault: false },
]);

describe('createModelNames', () => {
  it('lists models, then their aliases, then the family of the default', () => {
    expect(NAMES.all).toEqual([
      'gpt-5.5',
      'gpt-6',
      'gpt-6-low',
      'gpt-5.5-low',
      'gpt-5.5-high',
      'gpt-6-max',
      'gpt-6-low-low',
      'gpt-6-low-medium',
      'gpt-6-low-high',
      'gpt-6-low-xhigh',
      'codex-5',
      'codex-5-low',
      'codex-5-max',
    ]);
  });

  it.each([
    ['gpt-5.5', { model: 'gpt-5.5', effort: null, listed: true }],
    ['gpt-5.5-high', { model: 'gpt-5.5', effort: 'high', listed: true }],
    // A model goes before an alias of the same name.
    ['gpt-6-low', { model: 'gpt-6-low', effort: null, listed: true }],
    ['codex-5', { model: 'gpt-6', effort: null, listed: true }],
    ['codex-5-max', { model: 'gpt-6', effort: 'max', listed: true }],
    ['codex-5.3-codex', { model: 'gpt-6', effort: null, listed: true }],
    ['codex-5-mini-low', { model: 'gpt-6', effort: 'low', listed: true }],
    ['gpt-5.5-purple', { model: 'gpt-5.5-purple', effort: null, listed: false }],
    ['GPT-5.5', { model: 'GPT-5.5', effort: null, listed: false }],
    ['claude', { model: 'claude', effort: null, listed: false }],
    ['', { model: '', effort: null, listed: false }],
    ['__proto__', { model: '__proto__', effort: null, listed: false }],
  ])('%s', (name, resolved) => {
    expect(NAMES.resolve(name)).toEqual(resolved);
  });

  it('takes the first model for the default where none says that it is', () => {
    const names = createModelNames([{ id: 'a', efforts: ['low'], isDefault: false }]);
    expect(names.resolve('codex-5')).toEqual({ model: 'a', effort: null, listed: true });
  });

  it('hands every name on where there is no model at all', () => {
    const names = createModelNames([]);
    expect([names.all, names.resolve('codex-5')]).toEqual([
      [],
      { model: 'codex-5', effort: null, listed: false },
    ]);
  });
});
