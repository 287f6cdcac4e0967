import { randomBytes } from 'node:crypto';
import path from 'node:path';

import type { Signer } from '../anthropic/messages/reasoning/signer.ts';
import type { Config } from '../config/schema.ts';
import { systemAmbient } from '../kit/system-ambient.ts';
import type { Logger } from '../observe/log.ts';
import { loadOrCreateSecret } from '../state/secret-file.ts';
import { sharedKey } from '../state/shared-key.ts';
import { keyBytes, TextSigner } from '../state/text-signer.ts';
import type { Store } from '../store/store.ts';

export interface OpenSigner {
  readonly signer: Signer;
  close(): void;
}

const RETRY_MS = 30_000;

/**
 * Signs the reasoning that clients of Anthropic's API keep. The key is the configured one, else that of the store, which
 * all its instances use, else that of this installation, which is also used while the store fails.
 */
export const openSigner = async (
  store: Store | null,
  { state }: Pick<Config, 'state'>,
  logger: Logger,
): Promise<OpenSigner> => {
  const configured = state.signatureKeys;
  if (configured.length > 0) return { signer: new TextSigner(configured.map(keyBytes)), close() {} };
  const own = await ownKey(state.dir, logger);
  const signer = new TextSigner([keyBytes(own)]);
  let timer: NodeJS.Timeout | null = null;
  let isClosed = store === null;
  const share = async (): Promise<void> => {
    if (store === null) return;
    try {
      const shared = await sharedKey(store.memory, own, systemAmbient.clock);
      signer.use([shared, own].map(keyBytes));
    } catch (err) {
      if (timer === null)
        logger.warn(
          { err },
          'the store fails: reasoning that clients keep is signed with a key that other instances do not know',
        );
      if (!isClosed) timer = setTimeout(() => void share(), RETRY_MS).unref();
    }
  };
  await share();
  return {
    signer,
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
      'the key for signatures cannot be read or written: reasoning that clients keep is lost at a restart',
    );
    return randomBytes(32).toString('base64url');
  }
};
