import { z } from 'zod';

import { fail } from '../../canonical/failure.ts';
import type { Part } from '../../canonical/item.ts';
import { assertNever } from '../../kit/assert-never.ts';
import type { Json } from '../../kit/json.ts';
import { list, longText, MAX_PARTS } from '../bounds.ts';
import { textOfFile } from '../text-file.ts';
import { noteUnread } from '../unread-fields.ts';
import { missing, parseWire, readTagged } from '../validation.ts';

const schemas = {
  input_text: z.object({ type: z.literal('input_text'), text: longText }),
  output_text: z.object({
    type: z.literal('output_text'),
    text: longText,
    annotations: (list(MAX_PARTS) as z.ZodType<readonly Json[]>).nullish(),
    // Nobody reads them: they only come back.
    logprobs: list(Infinity).nullish(),
  }),
  refusal: z.object({ type: z.literal('refusal'), refusal: longText }),
  input_image: z.object({
    type: z.literal('input_image'),
    image_url: z.string().nullish(),
    file_id: z.string().nullish(),
    detail: z.enum(['auto', 'low', 'high', 'original']).nullish(),
  }),
  input_file: z.object({
    type: z.literal('input_file'),
    file_data: z.string().nullish(),
    file_id: z.string().nullish(),
    file_url: z.string().nullish(),
    filename: z.string().nullish(),
    detail: z.string().nullish(),
  }),
  input_audio: z.object({
    type: z.literal('input_audio'),
    input_audio: z.object({ data: z.string().min(1), format: z.enum(['mp3', 'wav']) }),
  }),
} as const;

type PartType = keyof typeof schemas;
const PART_TYPES = Object.keys(schemas) as PartType[];

export const parseParts = (wire: readonly unknown[], at: string, unread: string[]): readonly Part[] =>
  wire.map((value, index) => {
    const place = `${at}[${index}]`;
    const { tag: type, object } = readTagged(value, 'type', PART_TYPES, place);
    noteUnread(unread, schemas[type], object, place);
    return part(type, object, place);
  });

const part = (type: PartType, value: unknown, at: string): Part => {
  switch (type) {
    case 'input_text':
      return { kind: 'text', text: parseWire(schemas.input_text, value, at).text };
    case 'output_text': {
      const wire = parseWire(schemas.output_text, value, at);
      return {
        kind: 'text',
        text: wire.text,
        ...(wire.annotations && wire.annotations.length > 0 ? { annotations: wire.annotations } : {}),
      };
    }
    case 'refusal':
      return { kind: 'refusal', text: parseWire(schemas.refusal, value, at).refusal };
    case 'input_image': {
      const wire = parseWire(schemas.input_image, value, at);
      if (typeof wire.image_url !== 'string') {
        if (typeof wire.file_id === 'string') throw noFileIds(`${at}.file_id`);
        throw missing(`${at}.image_url`);
      }
      return { kind: 'image', url: wire.image_url, ...(wire.detail ? { detail: wire.detail } : {}) };
    }
    case 'input_file': {
      const wire = parseWire(schemas.input_file, value, at);
      if (typeof wire.file_data === 'string') {
        return textOfFile(wire.file_data, wire.filename ?? null, `${at}.file_data`);
      }
      if (typeof wire.file_id === 'string') throw noFileIds(`${at}.file_id`);
      if (typeof wire.file_url === 'string') {
        throw fail('unsupported_value', {
          param: `${at}.file_url`,
          message: 'Files are not fetched from URLs here. Send the content of a text file in `file_data`.',
        });
      }
      throw missing(`${at}.file_data`);
    }
    case 'input_audio': {
      const { data, format } = parseWire(schemas.input_audio, value, at).input_audio;
      return { kind: 'audio', data, format };
    }
    default:
      return assertNever(type);
  }
};

const noFileIds = (param: string) =>
  fail('unsupported_value', {
    param,
    message: 'Uploaded files are not supported here: there is no Files API. Send the content itself.',
  });
