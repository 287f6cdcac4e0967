import { z } from 'zod';

import { gatewayError } from '../../../canonical/failure/failure.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import { quoted } from '../../../kit/text/display.ts';
import { list, longText, MAX_INPUT_ITEMS } from '../../../apis/bounds.ts';
import { bodyObject } from '../../chat/common.ts';
import { unreadFields, emptyArray, parseBody } from '../../../apis/validation.ts';
import { readInput } from './input-items.ts';

/** The app-server's limit per call. */
const MAX_CHARS = 1024 * 1024;

const steerSchema = z.object({ input: z.union([longText, list(MAX_INPUT_ITEMS)]) });

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
    throw noText();
  }
  if (texts.reduce((sum, text) => sum + text.length, 0) > MAX_CHARS) {
    throw gatewayError('invalid_value', {
      param: 'input',
      message: `Invalid 'input': at most ${MAX_CHARS} characters can be sent to a running response at once.`,
    });
  }
  return { texts, ignored: [...unreadFields(steerSchema, object, ''), ...unread] };
};

const noText = () =>
  gatewayError('invalid_value', { param: 'input', message: "Invalid 'input': it contains no text." });

const unsupportedInput = (param: string) =>
  gatewayError('unsupported_value', {
    param,
    message: `Unsupported value: '${param}'. A running response can only be steered with user text.`,
  });

/** What `response.steer` may have besides its type and the response. */
const STEER_FIELDS: ReadonlySet<string> = new Set(['type', 'previous_response_id', 'input']);

/**
 * The messages of a `response.steer` event, as items of a request. Throws if it has anything but messages of the user:
 * they become the input of a response that continues the steered one.
 */
export const readSteerEvent = (event: JsonObject): readonly JsonObject[] => {
  const field = Object.keys(event).find((name) => !STEER_FIELDS.has(name));
  if (field !== undefined) throw unsupportedSteer(quoted(field));
  const { input } = parseBody(steerSchema, { input: event['input'] });
  if (typeof input === 'string') {
    if (input.trim() === '') throw noText();
    return [{ type: 'message', role: 'user', content: input }];
  }
  const { items, places } = readInput(input);
  if (items.length === 0) throw emptyArray('input');
  for (const [index, item] of items.entries()) {
    if (item.kind !== 'message' || item.role !== 'user') throw unsupportedSteer(places[index] ?? 'input');
  }
  return input as readonly JsonObject[];
};

const unsupportedSteer = (param: string) =>
  gatewayError('unsupported_value', {
    param,
    message: `Unsupported value: '${param}'. A response can only be steered with messages of the user.`,
  });
