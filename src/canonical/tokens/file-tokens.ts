import { imageTokens } from './image-tokens.ts';
import type { FilePart } from '../request/item.ts';
import { fileBytesOf } from '../request/text-file.ts';

/** Estimates the tokens of a file that is not plain text. Of a PDF, the model gets text and an image per page. */
export const fileTokens = (part: FilePart, model: string): number => {
  const bytes = fileBytesOf(part);
  // The backend stores the file or fetches it.
  if (bytes === null) return pageTokens(model);
  if (bytes.subarray(0, 5).toString('latin1') !== '%PDF-') return Math.ceil(bytes.length / BYTES_PER_TOKEN);
  return pagesOf(bytes) * pageTokens(model);
};

const BYTES_PER_TOKEN = 16;
const TOKENS_OF_PAGE_TEXT = 500;

/** The text of a page, and its image of unknown size. */
const pageTokens = (model: string): number => TOKENS_OF_PAGE_TEXT + imageTokens({ url: '' }, model);

/** Estimate for PDFs with a compressed page list. */
const BYTES_PER_PAGE = 50_000;

const pagesOf = (bytes: Buffer): number => {
  let pages = 0;
  let looks = 0;
  let at = bytes.indexOf(TYPE);
  for (; at !== -1 && looks < MAX_LOOKS; at = bytes.indexOf(TYPE, at + TYPE.length)) {
    looks += 1;
    // `/Type /Pages` is a list of pages.
    const rest = bytes.toString('latin1', at + TYPE.length, at + TYPE.length + 8);
    if (/^\s?\/Page(?![a-zA-Z])/.test(rest)) pages += 1;
  }
  if (pages === 0) return Math.ceil(bytes.length / BYTES_PER_PAGE);
  return at === -1 ? pages : Math.ceil(pages * (bytes.length / at));
};

const TYPE = '/Type';
/** A few milliseconds of work. The count for longer files is extrapolated. */
const MAX_LOOKS = 20_000;
