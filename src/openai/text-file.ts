import { gatewayError } from '../canonical/failure.ts';
import type { TextPart } from '../canonical/item.ts';
import { quoted } from '../kit/quote.ts';

const DATA = 'data:';
const BASE64 = ';base64';
/** Types whose bytes may look like text although nobody can read them as such. */
const NOT_TEXT = /^(?:image|audio|video|font)\/|^application\/(?:pdf|zip|msword|vnd\.)/;
/** Types that only look like such: SVG is XML, and platforms take TypeScript for an MPEG stream. */
const TEXT_AFTER_ALL: ReadonlySet<string> = new Set(['image/svg+xml', 'video/mp2t']);

/**
 * Files are not taken, but a text file is text: it becomes a text part under its name.
 * Anything else is an honest 400. What decides is the content, because clients label source code
 * with whatever type their platform guesses.
 */
export const textOfFile = (fileData: string, filename: string | null, param: string): TextPart => {
  const { mediaType, bytes } = decode(fileData, param);
  const text = readable(mediaType, bytes);
  if (text === null) {
    throw gatewayError('unsupported_file', {
      param,
      message: `The file '${quoted(filename ?? 'without a name')}' is not a text file. Only text files (plain text, JSON, Markdown, CSV, source code) are supported as file input.`,
    });
  }
  return { kind: 'text', text: filename === null ? text : `${filename}:\n\n${text}` };
};

const decode = (fileData: string, param: string): { mediaType: string; bytes: Uint8Array } => {
  const comma = fileData.startsWith(DATA) ? fileData.indexOf(',') : -1;
  const header = comma === -1 ? BASE64 : fileData.slice(DATA.length, comma);
  const mediaType = (header.split(';', 1)[0] ?? '').toLowerCase();
  const payload = fileData.slice(comma + 1);
  if (header.slice(-BASE64.length).toLowerCase() !== BASE64) {
    return { mediaType, bytes: percentDecode(payload, param) };
  }
  if (!isBase64(payload)) throw notBase64(param);
  return { mediaType, bytes: Buffer.from(payload, 'base64') };
};

/**
 * Line breaks and other gaps are passed over where the text is decoded. Files are megabytes long: to take
 * the gaps out first costs more than all the rest.
 */
const isBase64 = (text: string): boolean => {
  const end = text.indexOf('=');
  const digits = end === -1 ? text : text.slice(0, end);
  const padding = end === -1 ? '' : text.slice(end);
  return !/[^A-Za-z0-9+/_\s-]/.test(digits) && /^(?:=\s*){0,2}$/.test(padding);
};

const percentDecode = (payload: string, param: string): Uint8Array => {
  try {
    return new TextEncoder().encode(decodeURIComponent(payload));
  } catch (error) {
    if (error instanceof URIError) throw notBase64(param);
    throw error;
  }
};

const notBase64 = (param: string) =>
  gatewayError('invalid_value', {
    param,
    message: `Invalid '${param}': expected base64 data or a data URL.`,
  });

const readable = (mediaType: string, bytes: Uint8Array): string | null => {
  if (NOT_TEXT.test(mediaType) && !TEXT_AFTER_ALL.has(mediaType)) return null;
  if (bytes.includes(0) || startsWithPdf(bytes)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
};

const startsWithPdf = (bytes: Uint8Array): boolean =>
  bytes[0] === 0x25 && bytes[1] === 0x50 && bytes[2] === 0x44 && bytes[3] === 0x46;
