import { fromBase64, fromUtf8 } from '../../kit/text/bytes.ts';
import type { FilePart, TextPart } from './item.ts';

const DATA = 'data:';
const BASE64 = ';base64';
/** Binary types, even if their bytes happen to be valid UTF-8. */
const NOT_TEXT = /^(?:image|audio|video|font)\/|^application\/(?:pdf|zip|msword|vnd\.)/;
/** Text types that match the pattern above: SVG is XML, and platforms label TypeScript as an MPEG stream. */
const TEXT_TYPES: ReadonlySet<string> = new Set(['image/svg+xml', 'video/mp2t']);

/** Why a file cannot be sent to the model as text. */
export type NotTextReason = 'not-text' | 'not-data' | 'elsewhere';

/**
 * Converts a text file to a text part that begins with the file name, for backends that accept no files. The
 * content decides whether it is text, because clients label source code with whatever type their platform guesses.
 */
export const textOfFile = ({ raw, cacheBreakpoint }: FilePart): TextPart | NotTextReason => {
  const { file_data: data, filename: name } = raw;
  if (typeof data !== 'string') return 'elsewhere';
  const decoded = decode(data);
  if (decoded === null) return 'not-data';
  const text = readable(decoded.mediaType, decoded.bytes);
  if (text === null) return 'not-text';
  return {
    kind: 'text',
    text: typeof name === 'string' ? `${name}:\n\n${text}` : text,
    ...(cacheBreakpoint === undefined ? {} : { cacheBreakpoint }),
  };
};

/** The bytes of an inline file; null if it is not inline or cannot be decoded. */
export const fileBytesOf = ({ raw }: FilePart): Buffer | null => {
  const { file_data: data } = raw;
  const decoded = typeof data === 'string' ? decode(data) : null;
  return decoded?.bytes ?? null;
};

/** Decodes base64 or a data URL; null for anything else. */
const decode = (fileData: string): { mediaType: string; bytes: Buffer } | null => {
  const comma = fileData.startsWith(DATA) ? fileData.indexOf(',') : -1;
  const header = comma === -1 ? BASE64 : fileData.slice(DATA.length, comma);
  const mediaType = (header.split(';', 1)[0] ?? '').toLowerCase();
  const payload = fileData.slice(comma + 1);
  if (header.slice(-BASE64.length).toLowerCase() !== BASE64) {
    const bytes = percentDecode(payload);
    return bytes === null ? null : { mediaType, bytes };
  }
  if (!isBase64(payload)) return null;
  return { mediaType, bytes: fromBase64(payload) };
};

/** Allows whitespace, which decoding skips. Removing it first would be slow for files of several megabytes. */
const isBase64 = (text: string): boolean => {
  const end = text.indexOf('=');
  const digits = end === -1 ? text : text.slice(0, end);
  const padding = end === -1 ? '' : text.slice(end);
  return !/[^A-Za-z0-9+/_\s-]/.test(digits) && /^(?:=\s*){0,2}$/.test(padding);
};

const percentDecode = (payload: string): Buffer | null => {
  try {
    return fromUtf8(decodeURIComponent(payload));
  } catch (error) {
    if (error instanceof URIError) return null;
    throw error;
  }
};

const readable = (mediaType: string, bytes: Uint8Array): string | null => {
  if (NOT_TEXT.test(mediaType) && !TEXT_TYPES.has(mediaType)) return null;
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
