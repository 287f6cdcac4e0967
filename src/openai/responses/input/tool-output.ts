import { z } from 'zod';

import type { Part } from '../../../canonical/request/item.ts';
import { list, longText, MAX_PARTS } from '../../../apis/bounds.ts';
import { noteUnread } from '../../../apis/unread-fields.ts';
import { parseBody } from '../../../apis/validation.ts';
import { parseParts } from './input-parts.ts';

const content = z.union([longText, list(MAX_PARTS)]);
const payload = z.object({ content, success: z.boolean().nullish() });
const schema = z.union([longText, list(MAX_PARTS), payload]);

/** Precedes the output of a failed tool in the model's input. */
const FAILED = 'The tool call failed.';

/**
 * Parses the output of a tool: a text, parts, or either in an object with a success flag. Backends have no field for the
 * flag, so a failure is added as text.
 */
export const readToolOutput = (value: unknown, at: string, unread: string[]): string | readonly Part[] => {
  const parsed = parseBody(schema, value, at);
  if (typeof parsed === 'string') return parsed;
  if (!('content' in parsed)) return parseParts(parsed, at, unread);
  noteUnread(unread, payload, value, at);
  const isFailed = parsed.success === false;
  if (typeof parsed.content === 'string') {
    if (!isFailed) return parsed.content;
    return parsed.content === '' ? FAILED : `${FAILED}\n${parsed.content}`;
  }
  const parts = parseParts(parsed.content, `${at}.content`, unread);
  return isFailed ? [{ kind: 'text', text: FAILED }, ...parts] : parts;
};
