import type { Signer } from '../../src/anthropic/messages/reasoning/signer.ts';
import { parseJsonObject } from '../../src/kit/json/json.ts';
import { TextSigner } from '../../src/state/text-signer.ts';

/** The backend of a replay. */
export const PLAYED_ORIGIN = 'replay';

const signer = new TextSigner([new Uint8Array(32)]);
const SIGNATURE = /^cap1\.(?<text>[\w-]+)\.[\w-]{43}$/;

/** A capture has no key, so this one accepts the signatures of all keys, as those of this backend. */
export const playedSigner: Signer = {
  sign: (text) => signer.sign(text),
  open(signature) {
    const text = SIGNATURE.exec(signature)?.groups?.['text'];
    const signed = text === undefined ? null : parseJsonObject(Buffer.from(text, 'base64url').toString());
    return signed === null ? null : JSON.stringify({ ...signed, origin: PLAYED_ORIGIN });
  },
};
