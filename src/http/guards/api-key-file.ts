import path from 'node:path';

import { loadOrCreateSecret, readSecret } from '../../state/secret-file.ts';

const KEY_FILE = 'api-key';

/** The key of an installation without a configured one. */
export interface OwnKey {
  readonly key: string;
  readonly file: string;
  /** Created by this start: it is shown only this once. */
  readonly isNew: boolean;
}

/** The key of this installation; null if the server has not created it yet. */
export const readApiKey = async (stateDir: string): Promise<Omit<OwnKey, 'isNew'> | null> => {
  const file = path.join(stateDir, KEY_FILE);
  const key = await readSecret(file);
  return key === null ? null : { key, file };
};

/** Reads the API key of this installation, or creates it. A new key would lock out the clients with the old one. */
export const loadOrCreateApiKey = async (stateDir: string): Promise<OwnKey> => {
  const { secret: key, ...rest } = await loadOrCreateSecret(path.join(stateDir, KEY_FILE), 'sk-proxy-');
  return { key, ...rest };
};
