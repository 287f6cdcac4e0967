import { gatewayError } from '../../canonical/failure/failure.ts';
import { fromBase64, toBase64Url } from '../../kit/text/bytes.ts';
import { longText } from '../shared/bounds.ts';
import { parseBody } from '../shared/validation.ts';

/**
 * Clients expect a compaction to be sealed, and send it back as it is. A summary that was made here is wrapped like
 * that, and marked, so that it is never taken for what a backend has sealed. There is no secret in it: whoever writes
 * one by hand has only written a message.
 */
const MARK = 'codex-app-server-proxy.summary.';
const VERSION = 'v1.';

export const wrapSummary = (summary: string): string =>
  MARK + VERSION + toBase64Url(JSON.stringify({ summary }));

export const isOwnSummary = (sealed: unknown): sealed is string =>
  typeof sealed === 'string' && sealed.startsWith(MARK);

/** The summary in a wrapping of ours. */
export const unwrapSummary = (wrapped: string, at: string): string => {
  const payload = wrapped.slice(MARK.length);
  if (payload.startsWith(VERSION)) {
    const held = textIn(fromBase64(payload.slice(VERSION.length)).toString());
    if (held !== null) return parseBody(longText, held, at);
  }
  throw gatewayError('invalid_value', {
    param: at,
    message: `Invalid '${at}': this summary comes from this server, but it is damaged or of another version.`,
  });
};

const BEFORE = '{"summary":';
const BEHIND = '}';

/**
 * Null: it is none. Only the text in it is parsed: whoever writes one by hand could put any JSON there, and this is not
 * held to the depth and the width of a body.
 */
const textIn = (held: string): string | null => {
  if (!held.startsWith(`${BEFORE}"`) || !held.endsWith(BEHIND)) return null;
  try {
    return JSON.parse(held.slice(BEFORE.length, -BEHIND.length)) as string;
  } catch {
    return null;
  }
};
