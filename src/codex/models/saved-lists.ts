import { createHash } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';

import { parseJsonObject } from '../../kit/json/json.ts';
import { readAccountModels, type AccountModel } from './account-list.ts';
import { makePrivateDirectory, readIfPresent, writeAtomically } from '../home/files.ts';

/** The backend's last list for an account. */
export interface SavedList {
  readonly asOfMs: number;
  readonly models: readonly AccountModel[];
}

export interface SavedLists {
  read(): Promise<SavedList | null>;
  write(list: SavedList): Promise<void>;
}

/** People have few accounts; lists of unused ones are removed. */
const MAX_ACCOUNTS = 16;

/** One small file per account, named by a hash so that it does not reveal the account id. */
export const openSavedLists = (directory: string, accountId: string): SavedLists => {
  const name = `${createHash('sha256').update(accountId).digest('hex').slice(0, 32)}.json`;
  const file = path.join(directory, name);
  return {
    async read() {
      // An unreadable file counts as missing.
      const text = await readIfPresent(file).catch(() => null);
      return text === null ? null : parseSaved(text);
    },
    async write(list) {
      await makePrivateDirectory(directory);
      await writeAtomically(file, JSON.stringify(list));
      await forgetOldest(directory);
    },
  };
};

/** Null for a broken file. */
const parseSaved = (text: string): SavedList | null => {
  const kept = parseJsonObject(text);
  const models = readAccountModels(kept);
  const asOfMs = kept?.['asOfMs'];
  return models === null || typeof asOfMs !== 'number' ? null : { asOfMs, models };
};

const forgetOldest = async (directory: string): Promise<void> => {
  const files = await Promise.all(
    (await readdir(directory)).map(async (name) => {
      const file = path.join(directory, name);
      // Another process may be cleaning up as well.
      const writtenAtMs = await stat(file).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      );
      return { file, writtenAtMs };
    }),
  );
  const oldest = files.toSorted((one, other) => other.writtenAtMs - one.writtenAtMs).slice(MAX_ACCOUNTS);
  await Promise.all(oldest.map(({ file }) => rm(file, { force: true })));
};
