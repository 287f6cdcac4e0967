import { z } from 'zod';

import { gatewayError } from '../../../canonical/failure/failure.ts';
import type { Part, RawPart } from '../../../canonical/request/item.ts';
import { assertNever } from '../../../kit/assert-never.ts';
import type { Json } from '../../../kit/json/json.ts';
import { isPlainWebUrl } from '../../../kit/text/patterns.ts';
import { list, longText, MAX_PARTS } from '../../../apis/bounds.ts';
import { breakpointField, readBreakpoint } from '../../shared/cache-breakpoint.ts';
import { fileFields, filePart } from '../../shared/file-part.ts';
import { noteUnread } from '../../../apis/unread-fields.ts';
import { parseBody, readTagged } from '../../../apis/validation.ts';

const schemas = {
  input_text: z.object({ type: z.literal('input_text'), text: longText, ...breakpointField }),
  output_text: z.object({
    type: z.literal('output_text'),
    text: longText,
    annotations: (list(MAX_PARTS) as z.ZodType<readonly Json[]>).nullish(),
    // Accepted but not used.
    logprobs: list(Infinity).nullish(),
  }),
  refusal: z.object({ type: z.literal('refusal'), refusal: longText }),
  input_image: z.object({
    type: z.literal('input_image'),
    image_url: z.string().nullish(),
    file_id: z.string().nullish(),
    detail: z.enum(['auto', 'low', 'high', 'original']).nullish(),
    ...breakpointField,
  }),
  input_file: z.looseObject({
    type: z.literal('input_file'),
    ...fileFields,
    file_url: z.string().nullish(),
    ...breakpointField,
  }),
  input_audio: z.object({
    type: z.literal('input_audio'),
    input_audio: z.object({ data: z.string().min(1), format: z.enum(['mp3', 'wav']) }),
  }),
} as const;

type PartType = keyof typeof schemas;
const PART_TYPES = Object.keys(schemas) as PartType[];

export const parseParts = (parsed: readonly unknown[], at: string, unread: string[]): readonly Part[] =>
  parsed.map((value, index) => {
    const place = `${at}[${index}]`;
    const { tag: type, object } = readTagged(value, 'type', PART_TYPES, place);
    noteUnread(unread, schemas[type], object, place);
    return part(type, object, place);
  });

const part = (type: PartType, value: unknown, at: string): Part => {
  switch (type) {
    case 'input_text': {
      const parsed = parseBody(schemas.input_text, value, at);
      return { kind: 'text', text: parsed.text, ...readBreakpoint(parsed) };
    }
    case 'output_text': {
      const parsed = parseBody(schemas.output_text, value, at);
      return {
        kind: 'text',
        text: parsed.text,
        ...(parsed.annotations && parsed.annotations.length > 0 ? { annotations: parsed.annotations } : {}),
      };
    }
    case 'refusal':
      return { kind: 'refusal', text: parseBody(schemas.refusal, value, at).refusal };
    case 'input_image': {
      const parsed = parseBody(schemas.input_image, value, at);
      // An image stored at the backend is handled as a file.
      if (typeof parsed.file_id === 'string' || typeof parsed.image_url !== 'string') {
        return filePart(parsed, `${at}.image_url`);
      }
      return {
        kind: 'image',
        url: parsed.image_url,
        ...(parsed.detail ? { detail: parsed.detail } : {}),
        ...readBreakpoint(parsed),
      };
    }
    case 'input_file': {
      const parsed = parseBody(schemas.input_file, value, at);
      if (typeof parsed.file_url === 'string') checkFileUrl(parsed.file_url, `${at}.file_url`);
      return filePart(parsed as RawPart, `${at}.file_data`);
    }
    case 'input_audio': {
      const { data, format } = parseBody(schemas.input_audio, value, at).input_audio;
      return { kind: 'audio', data, format };
    }
    default:
      return assertNever(type);
  }
};

/** Only web URLs: a backend on this machine must not be made to open local files. */
const checkFileUrl = (url: string, param: string): void => {
  if (isPlainWebUrl(url)) return;
  throw gatewayError('invalid_value', {
    message: `Invalid '${param}': expected an http or https URL.`,
    param,
  });
};
