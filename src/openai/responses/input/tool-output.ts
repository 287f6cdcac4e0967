import { z } from 'zod';

import type { Part } from '../../../canonical/request/item.ts';
import { list, longText, MAX_PARTS } from '../../../apis/bounds.ts';
import { failedOutput } from '../../../apis/failed-output.ts';
import { noteUnread } from '../../../apis/unread-fields.ts';
import { parseBody } from '../../../apis/validation.ts';
import { parseParts } from './input-parts.ts';

const content = z.union([longText, list(MAX_PARTS)]);
const payload = z.object({ content, success: z.boolean().nullish() });
const schema = z.union([longText, list(MAX_PARTS), payload]);

/** Parses the output of a tool: a text, parts, or either in an object with a success flag. */
export const readToolOutput = (value: unknown, at: string, unread: string[]): string | readonly Part[] => {
  const parsed = parseBody(schema, value, at);
  if (typeof parsed === 'string') return parsed;
  if (!('content' in parsed)) return parseParts(parsed, at, unread);
  noteUnread(unread, payload, value, at);
  const output =
    typeof parsed.content === 'string' ? parsed.content : parseParts(parsed.content, `${at}.content`, unread);
  return parsed.success === false ? failedOutput(output) : output;
};
