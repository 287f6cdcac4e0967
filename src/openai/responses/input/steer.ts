import { z } from 'zod';

import { gatewayError } from '../../../canonical/failure/failure.ts';
import { list, longText, MAX_ITEMS } from '../../shared/bounds.ts';
import { bodyObject } from '../../chat/common.ts';
import { unreadFields } from '../../shared/unread-fields.ts';
import { parseBody } from '../../shared/validation.ts';
import { readInput } from './input-items.ts';

/** The app-server's limit per call. */
const MAX_CHARS = 1024 * 1024;

const steerSchema = z.object({ input: z.union([longText, list(MAX_ITEMS)]) });

export interface ParsedSteer {
  readonly texts: readonly string[];
  readonly ignored: readonly string[];
}

/** Parses steering input: only user texts can be sent to a running answer. */
export const readSteer = (body: unknown): ParsedSteer => {
  const object = bodyObject(body);
  const { input } = parseBody(steerSchema, object);
  const { items, places, unread } = readInput(input);
  const texts = items.flatMap((item, index) => {
    if (item.kind !== 'message' || item.role !== 'user') throw unsupportedInput(places[index] ?? 'input');
    return item.parts.map((part) => {
      if (part.kind !== 'text') throw unsupportedInput(places[index] ?? 'input');
      return part.text;
    });
  });
  if (texts.every((text) => text.trim() === '')) {
    throw gatewayError('invalid_value', { param: 'input', message: "Invalid 'input': it contains no text." });
  }
  if (texts.reduce((sum, text) => sum + text.length, 0) > MAX_CHARS) {
    throw gatewayError('invalid_value', {
      param: 'input',
      message: `Invalid 'input': at most ${MAX_CHARS} characters can be sent to a running response at once.`,
    });
  }
  return { texts, ignored: [...unreadFields(steerSchema, object, ''), ...unread] };
};

const unsupportedInput = (param: string) =>
  gatewayError('unsupported_value', {
    param,
    message: `Unsupported value: '${param}'. A running response can only be steered with user text.`,
  });
