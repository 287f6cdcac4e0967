import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { openSavedLists } from './saved-lists.ts';

let directory: string;
beforeEach(async () => {
  directory = path.join(await mkdtemp(path.join(tmpdir(), 'kept-')), 'account-models');
});
afterEach(() => rm(path.dirname(directory), { recursive: true, force: true }));

const LIST = { asOfMs: 7, models: [{ slug: 'a', priority: 0 }] };

describe('openSavedLists', () => {
  it('reads back what was written, for that account only', async () => {
    const [mine, yours] = [openSavedLists(directory, 'me'), openSavedLists(directory, 'you')];
    expect(await mine.read()).toBeNull();
    await mine.write(LIST);
    expect([await mine.read(), await yours.read()]).toEqual([LIST, null]);
  });

  it('ignores a broken file', async () => {
    const kept = openSavedLists(directory, 'me');
    await kept.write(LIST);
    const [name] = await readdir(directory);
    for (const text of ['{"asOfMs":', '[]', '{"asOfMs":1,"models":[]}', '{"models":[{"slug":"a"}]}']) {
      await writeFile(path.join(directory, name ?? ''), text);
      expect(await kept.read()).toBeNull();
    }
  });

  it('removes lists of accounts that were not used for long', async () => {
    for (let account = 0; account < 18; account += 1) {
      await openSavedLists(directory, `account ${account}`).write(LIST);
      // Files of the same millisecond have no order.
      const names = await readdir(directory);
      await Promise.all(names.map((name) => utimes(path.join(directory, name), 1, 1)));
    }
    const last = openSavedLists(directory, 'the last one');
    await last.write(LIST);
    expect([(await readdir(directory)).length, await last.read()]).toEqual([16, LIST]);
  });
});
