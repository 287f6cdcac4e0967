import { expect, it } from 'vitest';

import { knownModel } from '../../../test/support/models.ts';
import { createModelNames } from '../../canonical/models/model-names.ts';
import { shortModelOf } from './short-model.ts';

const names = createModelNames(
  {
    models: [
      knownModel('gpt-5.5', { efforts: ['minimal', 'low', 'high'], serviceTiers: ['priority'] }),
      knownModel('gpt-5.5-mini', { efforts: ['minimal', 'medium'] }),
      knownModel('plain', { efforts: [] }),
      knownModel('llama'),
    ],
    standard: null,
    unlisted: [],
  },
  { house: 'gpt-5.5' },
);

it.each([
  // The smallest, with the least effort where it has no low one.
  [null, 'gpt-5.5-mini', ['minimal'], null],
  ['gpt-5.5', 'gpt-5.5', ['low'], null],
  ['house', 'gpt-5.5', ['low'], null],
  ['gpt-5.5-high-fast', 'gpt-5.5', ['high'], 'priority'],
  ['plain', 'plain', [null], null],
  // Of these nothing is known.
  ['llama', 'llama', ['low', null], null],
  ['elsewhere', 'elsewhere', ['low', null], null],
])('%s is %s', (named, model, efforts, serviceTier) => {
  expect(shortModelOf(names, named, 'asked')).toEqual({ model, efforts, serviceTier });
});

it('is the requested model if none is listed', () => {
  const none = createModelNames({ models: [], standard: null, unlisted: [] });
  expect(shortModelOf(none, null, 'asked')).toEqual({
    model: 'asked',
    efforts: ['low', null],
    serviceTier: null,
  });
});
