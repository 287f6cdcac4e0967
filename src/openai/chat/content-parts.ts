import { z } from 'zod';

import type { Part } from '../../canonical/request/item.ts';
import { assertNever } from '../../kit/assert-never.ts';
import { longText } from '../../apis/bounds.ts';
import { breakpointField, readBreakpoint } from '../shared/cache-breakpoint.ts';
import { fileFields, filePart } from '../shared/file-part.ts';
import { noteUnread } from '../../apis/unread-fields.ts';
import { emptyArray, parseBody, readTagged } from '../../apis/validation.ts';

const schemas = {
  text: z.object({ type: z.literal('text'), text: longText, ...breakpointField }),
  image_url: z.object({
    type: z.literal('image_url'),
    image_url: z.object({
      url: z.string(),
      detail: z.enum(['auto', 'low', 'high', 'original']).nullish(),
    }),
    ...breakpointField,
  }),
  input_audio: z.object({
    type: z.literal('input_audio'),
    input_audio: z.object({ data: z.string().min(1), format: z.enum(['wav', 'mp3']) }),
    ...breakpointField,
  }),
  file: z.object({
    type: z.literal('file'),
    file: z.object(fileFields),
    ...breakpointField,
  }),
  refusal: z.object({ type: z.literal('refusal'), refusal: longText }),
} as const;

export type PartType = keyof typeof schemas;

/** Parses content: a string becomes one text part. The caller checks which parts its role allows. */
export const readContent = (
  content: string | readonly unknown[],
  allowed: readonly PartType[],
  at: string,
  unread: string[],
): readonly Part[] => {
  if (typeof content === 'string') return [{ kind: 'text', text: content }];
  if (content.length === 0) throw emptyArray(at);
  return content.map((value, index) => {
    const place = `${at}[${index}]`;
    const { tag: type, object } = readTagged(value, 'type', allowed, place);
    noteUnread(unread, schemas[type], object, place);
    return part(type, object, place);
  });
};

const part = (type: PartType, value: unknown, at: string): Part => {
  switch (type) {
    case 'text': {
      const parsed = parseBody(schemas.text, value, at);
      return { kind: 'text', text: parsed.text, ...readBreakpoint(parsed) };
    }
    case 'refusal':
      return { kind: 'refusal', text: parseBody(schemas.refusal, value, at).refusal };
    case 'image_url': {
      const { image_url: image, ...parsed } = parseBody(schemas.image_url, value, at);
      const { url, detail } = image;
      return { kind: 'image', url, ...(detail ? { detail } : {}), ...readBreakpoint(parsed) };
    }
    case 'input_audio': {
      const { input_audio: audio, ...parsed } = parseBody(schemas.input_audio, value, at);
      return { kind: 'audio', data: audio.data, format: audio.format, ...readBreakpoint(parsed) };
    }
    case 'file': {
      const { file, ...parsed } = parseBody(schemas.file, value, at);
      return {
        ...filePart({ type: 'input_file', ...file }, `${at}.file.file_data`),
        ...readBreakpoint(parsed),
      };
    }
    default:
      return assertNever(type);
  }
};
