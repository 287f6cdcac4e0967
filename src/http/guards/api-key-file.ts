import path from 'node:path';

import { loadOrCreateSecret } from '../../state/secret-file.ts';

/** The key of an installation without a configured one. */
export interface OwnKey {
  readonly key: string;
  readonly file: string;
  /** Created by this start: it is shown only this once. */
  readonly isNew: boolean;
}

/** Reads the API key of this installation, or creates it. A new key would lock out the clients with the old one. */
export const loadOrCreateApiKey = async (stateDir: string): Promise<OwnKey> => {
  const { secret: key, ...rest } = await loadOrCreateSecret(path.join(stateDir, 'api-key'), 'sk-proxy-');
  return { key, ...rest };
};
