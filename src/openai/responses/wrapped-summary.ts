import { gatewayError } from '../../canonical/failure/failure.ts';
import { fromBase64, toBase64Url } from '../../kit/text/bytes.ts';
import { longText } from '../../apis/bounds.ts';
import { parseBody } from '../../apis/validation.ts';

/**
 * Wraps a summary made by this server as encrypted content, because clients expect that and send it back unchanged. A
 * prefix distinguishes it from a backend's own compaction. It is not secret: a forged one is just a user message.
 */
const PREFIX = 'codex-app-server-proxy.summary.';
const VERSION = 'v1.';

export const wrapSummary = (summary: string): string =>
  PREFIX + VERSION + toBase64Url(JSON.stringify({ summary }));

export const isWrappedSummary = (content: unknown): content is string =>
  typeof content === 'string' && content.startsWith(PREFIX);

/** Returns the wrapped summary, or throws if it is damaged. */
export const unwrapSummary = (wrapped: string, at: string): string => {
  const payload = wrapped.slice(PREFIX.length);
  if (payload.startsWith(VERSION)) {
    const json = summaryIn(fromBase64(payload.slice(VERSION.length)).toString());
    if (json !== null) return parseBody(longText, json, at);
  }
  throw gatewayError('invalid_value', {
    param: at,
    message: `Invalid '${at}': this summary comes from this server, but it is damaged or of another version.`,
  });
};

const BEFORE = '{"summary":';
const AFTER = '}';

/**
 * Reads the summary; null if invalid. Only its string is parsed: a forged payload could contain any JSON, and the depth
 * and width limits of a body do not apply here.
 */
const summaryIn = (json: string): string | null => {
  if (!json.startsWith(`${BEFORE}"`) || !json.endsWith(AFTER)) return null;
  try {
    return JSON.parse(json.slice(BEFORE.length, -AFTER.length)) as string;
  } catch {
    return null;
  }
};
