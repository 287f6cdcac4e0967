import { expect, it } from 'vitest';

import { createModelNames, unknownModel } from '../canonical/models/model-names.ts';
import { namesFor } from './key-models.ts';

const names = createModelNames(
  {
    models: ['gpt-5.2', 'o3'].map(unknownModel),
    standard: 'gpt-5.2',
    unlisted: ['o1', 'gpt-4'].map(unknownModel),
  },
  { house: 'o3', mine: 'gpt-5.2' },
);

it('shows a key the models that it may use, and their aliases', () => {
  const shown = namesFor(names, { models: ['o*'] });
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

it('shows everything to a key without such a limit', () => {
  expect([namesFor(names, null), namesFor(names, { models: [] })]).toEqual([names, names]);
});
