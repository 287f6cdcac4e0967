import type { Part } from '../../../canonical/request/item.ts';
import { assertNever } from '../../../kit/assert-never.ts';
import type { JsonObject } from '../../../kit/json/json.ts';

/** A part of a message or of a tool output in input form. */
export const projectInputPart = (part: Part): JsonObject => {
  switch (part.kind) {
    case 'text':
      return { type: 'input_text', text: part.text };
    case 'image':
      return { type: 'input_image', image_url: part.url, detail: part.detail ?? 'auto' };
    case 'audio':
      return { type: 'input_audio', input_audio: { data: part.data, format: part.format } };
    case 'file':
      return part.raw;
    case 'refusal':
      return { type: 'refusal', refusal: part.text };
    default:
      return assertNever(part);
  }
};
