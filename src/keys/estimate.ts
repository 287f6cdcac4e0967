import { assertNever } from '../kit/assert-never.ts';
import type { Item, Part } from '../canonical/request/item.ts';
import type { TurnRequest } from '../canonical/request/turn-request.ts';

/** Most texts have more bytes for a token; Chinese and Japanese have about these. */
const BYTES_PER_TOKEN = 3;
/** About 1,024 × 1,024 pixels. */
const IMAGE_TOKENS = 1_100;
/** Of base64, which has four characters for three bytes of text. */
const FILE_CHARS_PER_TOKEN = 4;
const PDF = 'data:application/pdf';
/** A page has far more. */
const PDF_CHARS_PER_TOKEN = 16;
const AUDIO_CHARS_PER_TOKEN = 2_000;

/** The output of a turn whose request has no limit. */
export const OUTPUT_ESTIMATE = 4_096;

/**
 * A cheap estimate of the input tokens of a request with a body of so many bytes, all turns together. It is rather too
 * high: it is replaced by the real usage.
 */
export const estimateInput = (requests: readonly TurnRequest[], bytes: number): number => {
  const attached: Attached = { chars: 0, tokens: 0 };
  for (const { items } of requests) for (const item of items) addItem(item, attached);
  return bytesToTokens(Math.max(bytes - attached.chars, 0)) + attached.tokens;
};

/** An estimate for text. */
export const bytesToTokens = (bytes: number): number => Math.ceil(bytes / BYTES_PER_TOKEN);

/** How much of the body images, files and audio are, and what they cost instead. */
interface Attached {
  chars: number;
  tokens: number;
}

const addItem = (item: Item, attached: Attached): void => {
  if (item.kind === 'message') for (const part of item.parts) addPart(part, attached);
  if (item.kind !== 'tool-output' || typeof item.output === 'string') return;
  for (const part of item.output) addPart(part, attached);
};

const addPart = (part: Part, attached: Attached): void => {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return;
    case 'image':
      attached.chars += part.url.length;
      attached.tokens += IMAGE_TOKENS;
      return;
    case 'audio':
      attached.chars += part.data.length;
      attached.tokens += Math.ceil(part.data.length / AUDIO_CHARS_PER_TOKEN);
      return;
    case 'file': {
      const { file_data: given } = part.raw;
      const data = typeof given === 'string' ? given : '';
      const perToken = data.startsWith(PDF) ? PDF_CHARS_PER_TOKEN : FILE_CHARS_PER_TOKEN;
      attached.chars += data.length;
      attached.tokens += Math.max(Math.ceil(data.length / perToken), IMAGE_TOKENS);
      return;
    }
    default:
      assertNever(part);
  }
};
