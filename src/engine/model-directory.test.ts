import { describe, expect, it } from 'vitest';

import { knownModel, modelList } from '../../test/support/models.ts';
import { createModelDirectory } from './model-directory.ts';

describe('createModelDirectory', () => {
  it('has the names that its source lists, and creates them again only when the list changes', async () => {
    let list = modelList([knownModel('a', { efforts: ['low'] })]);
    const directory = createModelDirectory({ models: async () => list }, { house: 'a-low' });
    const [first, second] = [await directory.names(), await directory.names()];
    list = modelList([knownModel('b')]);
    const third = await directory.names();
    expect([first === second, first.all.map(({ id }) => id), third.all.map(({ id }) => id)]).toEqual([
      true,
      ['a', 'a-low', 'codex-5', 'codex-5-low', 'house'],
      ['b', 'codex-5', 'house'],
    ]);
  });
});
