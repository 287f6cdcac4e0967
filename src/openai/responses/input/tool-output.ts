import { z } from 'zod';

import type { Part } from '../../../canonical/request/item.ts';
import { list, longText, MAX_PARTS } from '../../shared/bounds.ts';
import { noteUnread } from '../../shared/unread-fields.ts';
import { parseBody } from '../../shared/validation.ts';
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
  const given = parseBody(schema, value, at);
  if (typeof given === 'string') return given;
  if (!('content' in given)) return parseParts(given, at, unread);
  noteUnread(unread, payload, value, at);
  const isFailed = given.success === false;
  if (typeof given.content === 'string') {
    if (!isFailed) return given.content;
    return given.content === '' ? FAILED : `${FAILED}\n${given.content}`;
  }
  const parts = parseParts(given.content, `${at}.content`, unread);
  return isFailed ? [{ kind: 'text', text: FAILED }, ...parts] : parts;
};
