import { isCertificateError } from '../../failures/unreachable.ts';
import type { TransportAnswer } from './model-transport.ts';

const MAX_SHORT_BYTES = 256 * 1024;
const SHORT_BODY_TIMEOUT_MS = 5_000;

/** Reads the body of an error or token response, up to a time and size limit. */
export const readShortBody = async (answer: TransportAnswer): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let size = 0;
  const timer = setTimeout(() => answer.body.destroy(), SHORT_BODY_TIMEOUT_MS);
  try {
    for await (const chunk of answer.body) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MAX_SHORT_BYTES) break;
    }
  } catch (error) {
    if (!isConnectionError(error)) throw error;
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(chunks);
};

const TIMEOUTS = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);
export const isTimeout = (code: string): boolean => TIMEOUTS.has(code);

/** Errors that a retry a moment later would not change. */
const PERMANENT = new Set([
  ...TIMEOUTS,
  'UND_ERR_INVALID_ARG',
  'ERR_INVALID_URL',
  'ECONNREFUSED',
  'ENOTFOUND',
]);
export const isPermanent = (code: string): boolean =>
  PERMANENT.has(code) || code.startsWith('WS_') || isCertificateError(code);

/** Connection errors have a code, and aborts a name; anything else is a bug. */
export const isConnectionError = (error: unknown): boolean =>
  codeOf(error) !== '' || (error instanceof Error && error.name === 'AbortError');

export const codeOf = (error: unknown): string => {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  if (typeof code === 'string') return code;
  // The code of the parser is not always known.
  return error instanceof Error && error.name === 'HTTPParserError' ? 'HPE_INVALID' : '';
};
