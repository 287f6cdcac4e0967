import { describe, expect, it } from 'vitest';

import { knownModel, modelList } from '../../../test/support/models.ts';
import { createModelNames, unknownModel, usableNames, smallestOf } from './model-names.ts';

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
    // A model takes precedence over an alias of the same name.
    ['gpt-6-low', plain('gpt-6-low')],
    // The model does not have this tier, so the name is not an alias.
    ['gpt-6-fast', plain('gpt-6-fast')],
    ['llama', plain('llama')],
    ['llama-high', plain('llama-high')],
    // Not listed, but its aliases resolve.
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
    ['gpt-5.5-codev-l', { ...plain('gpt-5.5'), effort: 'low' }],
    ['gpt-5.5-codev-m', { ...plain('gpt-5.5'), effort: 'medium' }],
    ['gpt-5.5-codev', plain('gpt-5.5')],
    ['gpt-5.5-high-codev', { ...plain('gpt-5.5'), effort: 'high' }],
    ['gpt-5.5-fast-codev-xh', { model: 'gpt-5.5', effort: 'xhigh', serviceTier: 'priority' }],
    // Works for listed and unlisted models.
    ['gpt-5.2-codev-l', { ...plain('gpt-5.2'), effort: 'low' }],
    ['acme/llama-codev-h', { ...plain('acme/llama'), effort: 'high' }],
    ['codex-5-codev-l', { ...plain('gpt-6'), effort: 'low' }],
    ['codex-5.3-codev-xh', { ...plain('gpt-6'), effort: 'xhigh' }],
    ['gpt-5.5-codev-s', plain('gpt-5.5-codev-s')],
    ['-codev-l', plain('-codev-l')],
    // Only one suffix is removed.
    ['a-codev-l-codev-h', { ...plain('a-codev-l'), effort: 'high' }],
  ])('%s', (name, resolved) => {
    expect(NAMES.resolve(name)).toEqual(resolved);
  });

  it('uses the first model as the default if none is named', () => {
    const names = createModelNames(modelList([knownModel('a', { serviceTiers: ['priority'] })]));
    expect([names.resolve('codex-5'), names.resolve('codex-5-fast')]).toEqual([
      plain('a'),
      { ...plain('a'), serviceTier: 'priority' },
    ]);
  });

  it('resolves efforts and the tier of family names if nothing is known about the model', () => {
    const names = createModelNames(modelList([unknownModel('llama')]));
    expect(names.all.map(({ id }) => id)).toEqual(['llama', 'codex-5']);
    expect(['codex-5-high', 'codex-5-xhigh-fast', 'codex-5-max'].map((name) => names.resolve(name))).toEqual([
      { model: 'llama', effort: 'high', serviceTier: null },
      { model: 'llama', effort: 'xhigh', serviceTier: 'priority' },
      plain('llama'),
    ]);
  });

  it('leaves every name unchanged if there are no models', () => {
    const names = createModelNames(modelList([]));
    expect([names.all, names.resolve('codex-5'), names.smallest]).toEqual([[], plain('codex-5'), null]);
  });

  it('finds offered models, also under combined names that are not listed', () => {
    const found = ['gpt-5.5-low-fast', 'gpt-4', 'gpt-4-low', 'nope'].map((name) => NAMES.find(name)?.meaning);
    const codev = ['gpt-5.5-codev-l', 'llama-codev-xh', 'gpt-5.5-codev', 'codex-5-codev-l'];
    expect(codev.map((name) => NAMES.find(name)?.id)).toEqual(codev);
    // Not offered, effort not supported, and unknown.
    expect(['gpt-4-codev-l', 'gpt-5.5-codev-xh', 'nope-codev-l'].map((name) => NAMES.find(name))).toEqual([
      null,
      null,
      null,
    ]);
    expect(found).toEqual([
      { ...plain('gpt-5.5'), effort: 'low', serviceTier: 'priority' },
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe('configured aliases', () => {
  const names = createModelNames(
    {
      models: [
        knownModel('gpt-5.5', { efforts: ['low', 'high'], serviceTiers: ['priority'] }),
        knownModel('gpt-6-mini', { efforts: ['low', 'high'] }),
      ],
      standard: null,
      unlisted: [knownModel('gpt-4', { efforts: ['low'], displayName: 'Four' })],
    },
    {
      house: 'gpt-5.5-high-fast',
      home: 'house',
      'gpt-5.2': 'gpt-6-mini',
      // Takes precedence over the backend's model of the same name.
      'gpt-5.5': 'gpt-5.5-codev-h',
      old: 'gpt-4-low',
      any: 'codex-5.9-low',
      elsewhere: 'acme/llama-codev-m',
      __proto: 'x',
    },
  );

  it.each([
    ['house', { model: 'gpt-5.5', effort: 'high', serviceTier: 'priority' }],
    ['home', { model: 'gpt-5.5', effort: 'high', serviceTier: 'priority' }],
    ['house-codev-l', { model: 'gpt-5.5', effort: 'low', serviceTier: 'priority' }],
    ['home-codev', { model: 'gpt-5.5', effort: 'high', serviceTier: 'priority' }],
    ['gpt-5.2-codev-l', { ...plain('gpt-6-mini'), effort: 'low' }],
    ['gpt-5.5', { ...plain('gpt-5.5'), effort: 'high' }],
    ['gpt-5.5-low', { ...plain('gpt-5.5'), effort: 'low' }],
    ['gpt-5.5-codev-l', { ...plain('gpt-5.5'), effort: 'low' }],
    ['any', { ...plain('gpt-5.5'), effort: 'low' }],
    ['elsewhere', { ...plain('acme/llama'), effort: 'medium' }],
    ['constructor', plain('constructor')],
  ])('%s', (name, resolved) => {
    expect(names.resolve(name)).toEqual(resolved);
  });

  it('are listed after the others, or in place of the model that they replace', () => {
    const ids = names.all.map(({ id }) => id);
    expect([ids[0], ids.slice(-7), new Set(ids).size]).toEqual([
      'gpt-5.5',
      ['house', 'home', 'gpt-5.2', 'old', 'any', 'elsewhere', '__proto'],
      ids.length,
    ]);
    expect(names.find('gpt-5.5')?.meaning.effort).toBe('high');
    expect([names.find('old')?.info.displayName, names.find('elsewhere')?.info]).toEqual([
      'Four',
      unknownModel('acme/llama'),
    ]);
  });

  it('do not change which model is the smallest', () => {
    expect(names.smallest?.id).toBe('gpt-6-mini');
  });
});

describe('usableNames', () => {
  const names = createModelNames(
    {
      models: ['gpt-5.2', 'o3'].map(unknownModel),
      standard: 'gpt-5.2',
      unlisted: ['o1', 'gpt-4'].map(unknownModel),
    },
    { house: 'o3', mine: 'gpt-5.2' },
  );

  it('keeps the models that may be used, and their aliases', () => {
    const shown = usableNames(names, (model) => model.startsWith('o'));
    expect({
      all: shown.all.map(({ id }) => id),
      models: shown.list.models.map(({ id }) => id),
      unlisted: shown.list.unlisted.map(({ id }) => id),
      found: ['o3', 'house', 'gpt-5.2', 'mine', 'other'].map((name) => shown.find(name)?.id ?? null),
    }).toEqual({
      all: ['o3', 'house'],
      models: ['o3'],
      unlisted: ['o1'],
      found: ['o3', 'house', null, null, null],
    });
  });

  it('keeps everything without a filter', () => {
    expect(usableNames(names, null)).toBe(names);
  });
});

it.each([
  [['gpt-5.5', 'gpt-5.4-mini', 'gpt-5.4-nano', 'gpt-5.3-nano'], 'gpt-5.4-nano'],
  [['gpt-6.1-sol', 'gpt-6-luna', 'gpt-5.6-luna', 'gpt-5.5'], 'gpt-6-luna'],
  [['gpt-5.3-codex', 'GPT-5.3-Codex-Spark', 'gpt-5.2'], 'GPT-5.3-Codex-Spark'],
  // Only whole words count, and only text models.
  [['text-embedding-3-small', 'gpt-4o-mini-tts', 'google/gemini-3-pro', 'acme/minimax'], 'acme/minimax'],
  [['qwen3:30b-a3b', 'llama-3.2-1.5b-instruct', 'llama-3.1-8b'], 'llama-3.2-1.5b-instruct'],
  [['best', 'good', 'text-embedding-9'], 'good'],
  [['text-embedding-9'], 'text-embedding-9'],
])('the smallest of %j is %s', (ids, smallest) => {
  expect(smallestOf(ids.map(unknownModel))?.id).toBe(smallest);
});

it('returns null for an empty list', () => {
  expect(smallestOf([])).toBeNull();
});
