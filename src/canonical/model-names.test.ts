import { describe, expect, it } from 'vitest';

import { knownModel, modelList } from '../../test/support/models.ts';
import { createModelNames, unknownModel } from './model-names.ts';

const NAMES = createModelNames({
  models: [
    knownModel('gpt-5.5', { efforts: ['low', 'high'], serviceTiers: ['priority'] }),
    knownModel('gpt-6', { efforts: ['low', 'max'], serviceTiers: [] }),
    knownModel('gpt-6-low', { efforts: [] }),
    unknownModel('llama'),
  ],
  standard: 'gpt-6',
  unlisted: [knownModel('gpt-4', { efforts: ['low'], serviceTiers: ['priority'] })],
});

const plain = (model: string) => ({ model, effort: null, serviceTier: null });

describe('createModelNames', () => {
  it('lists models, then their aliases, then the family of the default', () => {
    expect(NAMES.all.map(({ id }) => id)).toEqual([
      'gpt-5.5',
      'gpt-6',
      'gpt-6-low',
      'llama',
      'gpt-5.5-low',
      'gpt-5.5-high',
      'gpt-5.5-fast',
      'gpt-6-max',
      'codex-5',
      'codex-5-low',
      'codex-5-max',
    ]);
  });

  it.each([
    ['gpt-5.5', plain('gpt-5.5')],
    ['gpt-5.5-high', { ...plain('gpt-5.5'), effort: 'high' }],
    ['gpt-5.5-fast', { ...plain('gpt-5.5'), serviceTier: 'priority' }],
    ['gpt-5.5-high-fast', { ...plain('gpt-5.5'), effort: 'high', serviceTier: 'priority' }],
    // A model goes before an alias of the same name.
    ['gpt-6-low', plain('gpt-6-low')],
    // It has no such tier, so this is no alias.
    ['gpt-6-fast', plain('gpt-6-fast')],
    ['llama', plain('llama')],
    ['llama-high', plain('llama-high')],
    // Not on offer, but its aliases have a meaning.
    ['gpt-4-low', { ...plain('gpt-4'), effort: 'low' }],
    ['gpt-4-low-fast', { ...plain('gpt-4'), effort: 'low', serviceTier: 'priority' }],
    ['codex-5', plain('gpt-6')],
    ['codex-5-max', { ...plain('gpt-6'), effort: 'max' }],
    ['codex-5-fast', plain('gpt-6')],
    ['codex-5.3-codex', plain('gpt-6')],
    ['codex-5-mini-low', { ...plain('gpt-6'), effort: 'low' }],
    ['gpt-5.5-purple', plain('gpt-5.5-purple')],
    ['GPT-5.5', plain('GPT-5.5')],
    ['claude', plain('claude')],
    ['', plain('')],
    ['__proto__', plain('__proto__')],
  ])('%s', (name, resolved) => {
    expect(NAMES.resolve(name)).toEqual(resolved);
  });

  it('takes the first model for the default where none is named', () => {
    const names = createModelNames(modelList([knownModel('a', { serviceTiers: ['priority'] })]));
    expect([names.resolve('codex-5'), names.resolve('codex-5-fast')]).toEqual([
      plain('a'),
      { ...plain('a'), serviceTier: 'priority' },
    ]);
  });

  it('the family of a model of which nothing is known still has efforts and a tier', () => {
    const names = createModelNames(modelList([unknownModel('llama')]));
    expect(names.all.map(({ id }) => id)).toEqual(['llama', 'codex-5']);
    expect(['codex-5-high', 'codex-5-xhigh-fast', 'codex-5-max'].map((name) => names.resolve(name))).toEqual([
      { model: 'llama', effort: 'high', serviceTier: null },
      { model: 'llama', effort: 'xhigh', serviceTier: 'priority' },
      plain('llama'),
    ]);
  });

  it('hands every name on where there is no model at all', () => {
    const names = createModelNames(modelList([]));
    expect([names.all, names.resolve('codex-5')]).toEqual([[], plain('codex-5')]);
  });

  it('finds what is on offer, also under a name that is too much for the list', () => {
    const found = ['gpt-5.5-low-fast', 'gpt-4', 'gpt-4-low', 'nope'].map((name) => NAMES.find(name)?.meaning);
    expect(found).toEqual([
      { ...plain('gpt-5.5'), effort: 'low', serviceTier: 'priority' },
      undefined,
      undefined,
      undefined,
    ]);
  });
});
