import { createHash } from 'node:crypto';
import path from 'node:path';

import type { MessagesOptions } from '../anthropic/messages/api.ts';
import type { Config } from '../config/schema.ts';
import { loadOrCreateSecret } from '../state/secret-file.ts';
import { TextSigner } from '../state/text-signer.ts';
import type { ActiveBackend } from './active-backend.ts';

/** Signs the reasoning that clients of Anthropic's API keep, and names the backend that it is from. */
export const openSignatures = async (
  { state }: Pick<Config, 'state'>,
  active: ActiveBackend,
): Promise<Pick<MessagesOptions, 'signer' | 'origin'>> => {
  const { secret } = await loadOrCreateSecret(path.join(state.dir, 'signature-key'));
  return {
    signer: new TextSigner([Buffer.from(secret, 'base64url')]),
    origin: () => originOf(active.backend.identity),
  };
};

/** Distinguishes backends and accounts without revealing them. */
const originOf = (identity: string): string =>
  createHash('sha256').update(identity).digest('base64url').slice(0, 16);
