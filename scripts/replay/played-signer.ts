import type { Signer } from '../../src/anthropic/messages/reasoning/thinking-block.ts';
import { parseJsonObject } from '../../src/kit/json/json.ts';
import { TextSigner } from '../../src/store/text-signer.ts';

const signer = new TextSigner([new Uint8Array(32)]);
const SIGNATURE = /^cap1\.(?<text>[\w-]+)\.[\w-]{43}$/;

/** A capture has no key, so this one accepts the signatures of all keys. */
export const playedSigner: Signer = {
  sign: (text) => signer.sign(text),
  open(signature) {
    const text = SIGNATURE.exec(signature)?.groups?.['text'];
    const signed = text === undefined ? null : Buffer.from(text, 'base64url').toString();
    return signed === null || parseJsonObject(signed) === null ? null : signed;
  },
};
