import { assertNever } from '../../kit/assert-never.ts';
import { isJsonObject, type Json } from '../../kit/json/json.ts';
import type { Item, Part, FilePart } from '../request/item.ts';
import { textOfFile, fileBytesOf } from '../request/text-file.ts';
import type { Tool } from '../request/tool.ts';
import type { TurnRequest } from '../request/turn-request.ts';
import { imageTokens } from './image-tokens.ts';

/** Estimates the tokens of a file that is not plain text. Of a PDF, the model gets text and an image per page. */
const fileTokens = (part: FilePart, model: string): number => {
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

/** A piece of model input or output: texts to count, and tokens that are already known. */
export interface Countable {
  readonly texts: readonly string[];
  readonly tokens: number;
}

/** The input of a model request, piece by piece, by the rules in docs/token-counting.md. */
export function* countableInput(request: TurnRequest): Generator<Countable> {
  const { model, instructions, items, tools, format } = request;
  yield tokensOnly(TOKENS_OF_REPLY);
  if (instructions !== null && instructions !== '')
    yield { texts: [instructions], tokens: TOKENS_OF_MESSAGE };
  if (tools.length > 0) yield tokensOnly(TOKENS_OF_TOOLS);
  for (const tool of tools) yield* jsonOf(declarationOf(tool), model);
  if (format.kind === 'json-schema') {
    const { name, description, schema } = format;
    yield* jsonOf({ name, ...(description === null ? {} : { description }), schema }, model);
  }
  for (const item of items) yield* countableItem(item, model);
}

/** Start and role of the answer. */
const TOKENS_OF_REPLY = 2;
/** Start, role, start of text, and end. */
const TOKENS_OF_MESSAGE = 4;
/** Heading of the tool list. */
const TOKENS_OF_TOOLS = 8;
/** Audio has about ten tokens per second. */
const AUDIO_CHARS_PER_TOKEN = 2_133;
/** For encrypted content in base64. */
const ENCRYPTED_CHARS_PER_TOKEN = 16 / 3;

/** The content of an item, piece by piece, so that a caller can yield in between: items can be megabytes long. */
export function* countableItem(item: Item, model: string): Generator<Countable> {
  switch (item.kind) {
    case 'message':
      yield tokensOnly(TOKENS_OF_MESSAGE);
      for (const part of item.parts) yield countablePart(part, model);
      return;
    case 'reasoning': {
      const shown = item.content ?? item.summary;
      yield item.encryptedContent === undefined
        ? { texts: shown, tokens: 0 }
        : tokensOnly(encryptedTokens(item.encryptedContent));
      return;
    }
    case 'tool-call':
      yield { texts: [item.name, item.input], tokens: TOKENS_OF_MESSAGE };
      return;
    case 'tool-output':
      yield { texts: item.name === undefined ? [] : [item.name], tokens: TOKENS_OF_MESSAGE };
      if (typeof item.output === 'string') yield { texts: [item.output], tokens: 0 };
      else for (const part of item.output) yield countablePart(part, model);
      return;
    case 'hosted-call':
    case 'opaque':
      yield* jsonOf(item.raw, model);
      return;
    case 'loaded-tools':
      yield tokensOnly(TOKENS_OF_TOOLS);
      for (const tool of item.tools) yield* jsonOf(declarationOf(tool), model);
      return;
    case 'compaction':
      yield 'summary' in item
        ? { texts: [item.summary], tokens: TOKENS_OF_MESSAGE }
        : tokensOnly(encryptedTokens(item.encryptedContent));
      return;
    default:
      assertNever(item);
  }
}

const countablePart = (part: Part, model: string): Countable => {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return { texts: [part.text], tokens: 0 };
    case 'image':
      return tokensOnly(imageTokens(part, model));
    case 'audio':
      return tokensOnly(Math.ceil(part.data.length / AUDIO_CHARS_PER_TOKEN));
    case 'file': {
      const text = textOfFile(part);
      return typeof text === 'string'
        ? tokensOnly(fileTokens(part, model))
        : { texts: [text.text], tokens: 0 };
    }
    default:
      return assertNever(part);
  }
};

const tokensOnly = (tokens: number): Countable => ({ texts: [], tokens });

/** The tokens of what was encrypted, by its length. */
export const encryptedTokens = (content: string): number =>
  Math.ceil(content.length / ENCRYPTED_CHARS_PER_TOKEN);

/** The declaration of a tool that the model reads. */
const declarationOf = (tool: Tool): Json => {
  switch (tool.kind) {
    case 'function':
      return { name: tool.name, description: tool.description, parameters: tool.parameters };
    case 'custom':
      return { name: tool.name, description: tool.description, format: tool.format };
    case 'namespace':
    case 'hosted':
      return tool.raw;
    default:
      return assertNever(tool);
  }
};

/** Counts JSON as text, except for images and encrypted content. In pieces, because clients can send any number of values. */
function* jsonOf(value: Json, model: string): Generator<Countable> {
  let text = '';
  let tokens = 0;
  function* write(one: Json | undefined, key: string | null): Generator<Countable> {
    if (typeof one === 'string' && one.length > MAX_WORD) {
      if (key === 'encrypted_content') tokens += encryptedTokens(one);
      else if (isData(one))
        tokens += imageTokens({ url: one.startsWith('data:') ? one : `data:,${one}` }, model);
      else text += JSON.stringify(one);
    } else if (Array.isArray(one)) {
      text += '[';
      for (const element of one as readonly Json[]) yield* write(element, null);
      text += ']';
    } else if (isJsonObject(one)) {
      for (const [name, member] of Object.entries(one)) {
        if (member === undefined || member === null) continue;
        text += `${JSON.stringify(name)}:`;
        yield* write(member, name);
      }
    } else text += `${JSON.stringify(one ?? null)},`;
    if (text.length < JSON_PIECE_CHARS) return;
    yield { texts: [text], tokens };
    text = '';
    tokens = 0;
  }
  yield* write(value, null);
  yield { texts: [text], tokens };
}

/** A few milliseconds of work. */
const JSON_PIECE_CHARS = 16 * 1024;

/** Longer strings without whitespace are treated as data. */
const MAX_WORD = 1_024;
const isData = (text: string): boolean =>
  text.startsWith('data:') || /^[A-Za-z0-9+/=_-]*$/.test(text.slice(0, MAX_WORD));
