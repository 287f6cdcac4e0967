import { gatewayError } from '../../canonical/failure.ts';
import { isJsonObject } from '../../kit/json.ts';
import { longText } from '../bounds.ts';
import { parseBody } from '../validation.ts';

/**
 * Clients expect a compaction to be sealed, and send it back as it is. A summary that was made here is wrapped like
 * that, and marked, so that it is never taken for what a backend has sealed. There is no secret in it: whoever writes
 * one by hand has only written a message.
 */
const MARK = 'codex-app-server-proxy.summary.';
const VERSION = 'v1.';

export const wrapSummary = (summary: string): string =>
  MARK + VERSION + Buffer.from(JSON.stringify({ summary })).toString('base64url');

export const isOwnSummary = (sealed: unknown): sealed is string =>
  typeof sealed === 'string' && sealed.startsWith(MARK);

/** The summary in a wrapping of ours. */
export const unwrapSummary = (wrapped: string, at: string): string => {
  const payload = wrapped.slice(MARK.length);
  if (payload.startsWith(VERSION)) {
    const held = parsed(Buffer.from(payload.slice(VERSION.length), 'base64url').toString());
    if (isJsonObject(held) && typeof held['summary'] === 'string') {
      return parseBody(longText, held['summary'], at);
    }
  }
  throw gatewayError('invalid_value', {
    param: at,
    message: `Invalid '${at}': this summary was made here, and is damaged or of another version.`,
  });
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};
