import { z } from 'zod';

import type { Part } from '../../../canonical/request/item.ts';
import { list, longText, MAX_PARTS } from '../../../apis/bounds.ts';
import { failedOutput } from '../../../apis/failed-output.ts';
import { noteUnread } from '../../../apis/unread-fields.ts';
import { parseBody } from '../../../apis/validation.ts';
import { isJsonObject } from '../../../kit/json/json.ts';
import { parseParts } from './input-parts.ts';

const content = z.union([longText, list(MAX_PARTS)]);
const payload = z.object({ content, success: z.boolean().nullish() });

/** Parses the output of a tool: a text, parts, or either in an object with a success flag. */
export const readToolOutput = (value: unknown, at: string, unread: string[]): string | readonly Part[] => {
  if (!isJsonObject(value) || !('content' in value)) {
    // An object is an error that names the types of OpenAI's API: few clients know the other form.
    const said = parseBody(content, value, at);
    return typeof said === 'string' ? said : parseParts(said, at, unread);
  }
  const parsed = parseBody(payload, value, at);
  noteUnread(unread, payload, value, at);
  const output =
    typeof parsed.content === 'string' ? parsed.content : parseParts(parsed.content, `${at}.content`, unread);
  return parsed.success === false ? failedOutput(output) : output;
};
