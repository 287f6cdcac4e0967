import { z } from 'zod';

import type { Part } from '../../../canonical/request/item.ts';
import { list, longText, MAX_PARTS } from '../../shared/bounds.ts';
import { noteUnread } from '../../shared/unread-fields.ts';
import { parseBody } from '../../shared/validation.ts';
import { parseParts } from './input-parts.ts';

const content = z.union([longText, list(MAX_PARTS)]);
const payload = z.object({ content, success: z.boolean().nullish() });
const schema = z.union([longText, list(MAX_PARTS), payload]);

/** What the model reads in front of the output of a tool that failed. */
const FAILED = 'The tool call failed.';

/**
 * What a tool gave back: a text, parts, or either in an object that says whether the tool succeeded. No
 * backend has a field for that, so a failure is put into words.
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
