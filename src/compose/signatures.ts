import { randomBytes } from 'node:crypto';
import path from 'node:path';

import type { Signer } from '../anthropic/messages/reasoning/thinking-block.ts';
import type { Config } from '../config/schema.ts';
import { KeyIds } from '../store/key-ids.ts';
import { systemAmbient } from '../kit/ambient.ts';
import type { Logger } from '../observe/log.ts';
import { loadOrCreateSecret } from '../state/secret-file.ts';
import { sharedKey, keyBytes, TextSigner } from '../state/text-signer.ts';
import type { Store } from '../store/store.ts';

export interface OpenSignatures {
  readonly signer: Signer;
  readonly keyIds: KeyIds;
  close(): void;
}

const RETRY_MS = 30_000;

/**
 * What needs a secret that all instances share: signs the reasoning that clients of Anthropic's API keep, and makes the ids
 * of configured keys. The secret is the configured key, else that of the store, which all its instances use, else that of
 * this installation, which is also used while the store fails.
 */
export const openSignatures = async (
  store: Store | null,
  { state }: Pick<Config, 'state'>,
  logger: Logger,
): Promise<OpenSignatures> => {
  const configured = state.signatureKeys;
  const own = configured.length > 0 ? null : await ownKey(state.dir, logger);
  const first = (own === null ? configured : [own]).map(keyBytes);
  const signer = new TextSigner(first);
  const keyIds = new KeyIds(first);
  let timer: NodeJS.Timeout | null = null;
  let isClosed = false;
  const share = async (): Promise<void> => {
    if (store === null || own === null) return;
    try {
      const shared = await sharedKey(store.memory, own, systemAmbient.clock);
      const both = [shared, own].map(keyBytes);
      signer.use(both);
      keyIds.use(both);
    } catch (err) {
      if (timer === null)
        logger.warn(
          { err },
          'the store fails: reasoning that clients keep is signed with a key that other instances do not know, and configured keys have other ids there',
        );
      if (!isClosed) timer = setTimeout(() => void share(), RETRY_MS).unref();
    }
  };
  await share();
  return {
    signer,
    keyIds,
    close() {
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
    },
  };
};

/** A server without a folder to write to can still answer. */
const ownKey = async (dir: string, logger: Logger): Promise<string> => {
  try {
    const { secret } = await loadOrCreateSecret(path.join(dir, 'signature-key'));
    keyBytes(secret);
    return secret;
  } catch (err) {
    logger.warn(
      { err },
      'the key for signatures cannot be read or written: at a restart, reasoning that clients keep is lost, and configured keys get other ids',
    );
    return randomBytes(32).toString('base64url');
  }
};
