import { imageTokens } from './image-tokens.ts';
import type { FilePart } from './item.ts';
import { fileBytesOf } from './text-file.ts';

/**
 * Tokens of a file that cannot be read as text: an estimate. A backend gives the model the text of each page of a PDF and
 * a picture of it; what it takes out of other formats is not known.
 */
export const fileTokens = (part: FilePart, model: string): number => {
  const bytes = fileBytesOf(part);
  // The backend has the file, or fetches it.
  if (bytes === null) return pageTokens(model);
  if (bytes.subarray(0, 5).toString('latin1') !== '%PDF-') return Math.ceil(bytes.length / BYTES_PER_TOKEN);
  return pagesOf(bytes) * pageTokens(model);
};

const BYTES_PER_TOKEN = 16;
const TOKENS_OF_PAGE_TEXT = 500;

/** Its text, and its picture as an image of unknown size. */
const pageTokens = (model: string): number => TOKENS_OF_PAGE_TEXT + imageTokens({ url: '' }, model);

/** Where the list of pages is compressed, a page for so many bytes. */
const BYTES_PER_PAGE = 50_000;

const pagesOf = (bytes: Buffer): number => {
  let pages = 0;
  const limit = Math.ceil(bytes.length / MIN_PAGE_BYTES);
  for (let at = bytes.indexOf(PAGE); at !== -1 && pages < limit; at = bytes.indexOf(PAGE, at + PAGE.length)) {
    // `/Type /Pages` is a list of them.
    const rest = bytes.toString('latin1', at + PAGE.length, at + PAGE.length + 8);
    if (/^\s?\/Page(?![a-zA-Z])/.test(rest)) pages += 1;
  }
  return pages === 0 ? Math.ceil(bytes.length / BYTES_PER_PAGE) : pages;
};

const PAGE = '/Type';
const MIN_PAGE_BYTES = 12;
