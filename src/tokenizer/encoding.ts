import { modelToEncodingMap } from 'gpt-tokenizer/mapping';

/** A token encoding. Its table takes time and memory to load: see `tokenizer-thread`. */
export interface Encoding {
  /** The text of each token, or its bytes if they are not whole characters. */
  readonly table: readonly (string | readonly number[] | undefined)[];
  readonly encode: (text: string, options: { readonly disallowedSpecial: Set<string> }) => number[];
}

/** The encoding of a model by name; that of current models for unknown names. */
export const encodingOf = (model: string): Promise<Encoding> =>
  ENCODINGS[Object.hasOwn(NAMES, model) ? (NAMES[model] ?? CURRENT) : CURRENT]();

const NAMES: Readonly<Record<string, keyof typeof ENCODINGS>> = modelToEncodingMap;
const CURRENT = 'o200k_base';

/** Loaded once, by Node's module cache. Encodings that share a table differ only in special tokens. */
const ENCODINGS = {
  o200k_base: async (): Promise<Encoding> => ({
    table: (await import('gpt-tokenizer/bpeRanks/o200k_base')).default,
    encode: (await import('gpt-tokenizer/encoding/o200k_base')).encode,
  }),
  o200k_harmony: () => ENCODINGS.o200k_base(),
  cl100k_base: async (): Promise<Encoding> => ({
    table: (await import('gpt-tokenizer/bpeRanks/cl100k_base')).default,
    encode: (await import('gpt-tokenizer/encoding/cl100k_base')).encode,
  }),
  p50k_base: async (): Promise<Encoding> => ({
    table: (await import('gpt-tokenizer/bpeRanks/p50k_base')).default,
    encode: (await import('gpt-tokenizer/encoding/p50k_base')).encode,
  }),
  p50k_edit: () => ENCODINGS.p50k_base(),
  r50k_base: async (): Promise<Encoding> => ({
    table: (await import('gpt-tokenizer/bpeRanks/r50k_base')).default,
    encode: (await import('gpt-tokenizer/encoding/r50k_base')).encode,
  }),
  gpt2: () => ENCODINGS.r50k_base(),
} as const;

export const countTokens = (text: string, encoding: Encoding): number => tokensOf(text, encoding).length;

/** The longest prefix of the text with at most this many tokens. */
export const textHead = (text: string, tokens: number, encoding: Encoding): string => {
  const all = tokensOf(text, encoding);
  if (all.length <= tokens) return text;
  // A token may end inside a character, and dropping that character may change the tokens before it.
  for (let count = tokens; count > 0; count -= 1) {
    const bytes = bytesOf(all.slice(0, count), encoding) ?? EMPTY;
    const head = commonStart(text, new TextDecoder().decode(bytes));
    if (tokensOf(head, encoding).length <= tokens) return head;
  }
  return '';
};

/** More than the longest text of a request. A token may decode to a hundred bytes. */
const MAX_TEXT_BYTES = 32 * 1024 * 1024;

/** The text of these tokens; null: one is invalid, they end within a character, or the text is too long. */
export const textOf = (tokens: readonly number[], encoding: Encoding): string | null => {
  const bytes = bytesOf(tokens, encoding, MAX_TEXT_BYTES);
  if (bytes === null) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
};

/** Replaces the library's decoder, which keeps half characters between texts and is quadratic for some. */
const bytesOf = (tokens: readonly number[], { table }: Encoding, maxBytes = Infinity): Uint8Array | null => {
  let size = 0;
  for (const token of tokens) {
    const said = table[token];
    if (said === undefined) return null;
    size += typeof said === 'string' ? Buffer.byteLength(said) : said.length;
    if (size > maxBytes) return null;
  }
  // A buffer for each of a million tokens would take a hundred times as much.
  const bytes = Buffer.allocUnsafe(size);
  let at = 0;
  for (const token of tokens) {
    const said = table[token] ?? '';
    if (typeof said === 'string') at += bytes.write(said, at);
    else {
      bytes.set(said, at);
      at += said.length;
    }
  }
  return bytes;
};

const EMPTY = new Uint8Array();

/** The encoder is quadratic in the length of a word, so longer ones are cut. No language has such words. */
const MAX_WORD = 256;

const tokensOf = (text: string, { encode }: Encoding): number[] => {
  const tokens: number[] = [];
  for (const piece of piecesOf(text)) {
    // Special tokens in a text are plain text.
    for (const token of encode(piece, { disallowedSpecial: new Set() })) tokens.push(token);
  }
  return tokens;
};

/** The text in one piece, unless a word or gap is too long. */
const piecesOf = (text: string): readonly string[] => {
  const pieces: string[] = [];
  let start = 0;
  let run = 0;
  let wasGap = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const isGap = code <= SPACE;
    run = isGap === wasGap ? run + 1 : 1;
    wasGap = isGap;
    if (run <= MAX_WORD || isSecondHalf(code)) continue;
    pieces.push(text.slice(start, at));
    start = at;
    run = 1;
  }
  pieces.push(text.slice(start));
  return pieces;
};

const SPACE = 0x20;
const isSecondHalf = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff;

/** The common prefix of two texts, in whole characters. */
const commonStart = (a: string, b: string): string => {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length += 1;
  const isTorn = /[\uD800-\uDBFF]/.test(a.charAt(length - 1)) && /[\uDC00-\uDFFF]/.test(a.charAt(length));
  return a.slice(0, isTorn ? length - 1 : length);
};
