import type { Readable } from 'node:stream';

import { hideSecrets, hideTokens } from '../kit/text/hide-secrets.ts';

/** Far more than any error needs. */
const MAX_BYTES = 256 * 1024;

/** The whole body of an error; null if it is too large. */
export const readErrorBytes = async (body: Readable): Promise<Buffer | null> => {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    // Leaving the loop closes the connection.
    if (size > MAX_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

/** Hides the provider's key in text, also one that the provider itself has masked in part. */
export const hideKey = (apiKey: string | null): ((text: string) => string) => {
  const hide = hideSecrets(apiKey === null ? [] : [apiKey]);
  return (text) =>
    hideTokens(hide(text))
      .replaceAll(/\bsk-[\w*-]{6,}/g, 'sk-***')
      .replaceAll(/\b(bearer\s+)[^\s"'\\,;]+/gi, '$1***');
};
