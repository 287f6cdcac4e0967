import { z } from 'zod';

import { gatewayError, type GatewayError } from '../../../canonical/failure/failure.ts';
import type { Part } from '../../../canonical/request/item.ts';
import { jsonObject, list, longText, MAX_PARTS, MAX_TEXT } from '../../../apis/bounds.ts';
import { noteUnread } from '../../../apis/unread-fields.ts';
import { parseBody, readTagged } from '../../../apis/validation.ts';
import { assertNever } from '../../../kit/assert-never.ts';
import type { JsonObject } from '../../../kit/json/json.ts';

/** The parts of one item, and where they are in the body. */
export class PartList {
  readonly parts: Part[] = [];
  readonly places: string[] = [];

  add(part: Part, place: string): void {
    this.parts.push(part);
    this.places.push(place);
  }

  /** Empty texts are left out: Anthropic rejects them, but some clients send them. */
  addText(text: string, place: string): void {
    if (text !== '') this.add({ kind: 'text', text }, place);
  }
}

/** Marks a cached prefix. Backends cache without marks, and the model must not see them. */
export const cacheControl = { cache_control: z.unknown().optional() } as const;

/** A text or a list of blocks. */
export const contentSchema = z.union([longText, list(MAX_PARTS)]);

const citations = z.object({ enabled: z.boolean().nullish() }).nullish();
const schemas = {
  // The citations of an answer come back with it; they say nothing to the model.
  text: z.object({ type: z.string(), text: longText, citations: z.unknown().optional(), ...cacheControl }),
  image: z.object({ type: z.string(), source: jsonObject, ...cacheControl }),
  document: z.object({
    type: z.string(),
    source: jsonObject,
    title: longText.nullish(),
    context: longText.nullish(),
    citations,
    ...cacheControl,
  }),
  search_result: z.object({
    type: z.string(),
    title: longText,
    source: longText,
    content: list(MAX_PARTS),
    citations,
    ...cacheControl,
  }),
} as const;

export type PartType = keyof typeof schemas;

/** Reads a block of content. Fields without effect are added to `unread`. */
export const readPart = (
  type: PartType,
  block: JsonObject,
  at: string,
  into: PartList,
  unread: string[],
): void => {
  const text = type === 'text' ? plainText(block) : null;
  if (text !== null) {
    into.addText(text, at);
    return;
  }
  noteUnread(unread, schemas[type], block, at);
  switch (type) {
    case 'text':
      into.addText(parseBody(schemas.text, block, at).text, at);
      return;
    case 'image':
      into.add({ kind: 'image', url: imageUrl(parseBody(schemas.image, block, at).source, at, unread) }, at);
      return;
    case 'document':
      readDocument(parseBody(schemas.document, block, at), at, into, unread);
      return;
    case 'search_result':
      readSearchResult(parseBody(schemas.search_result, block, at), at, into, unread);
      return;
    default:
      assertNever(type);
  }
};

/** The text of a block that is nothing else, as nearly all are, without the schema. Null: the schema reads it. */
const plainText = (block: JsonObject): string | null => {
  for (const key in block) if (key !== 'type' && key !== 'text' && key !== 'cache_control') return null;
  const { text } = block;
  return typeof text === 'string' && text.length <= MAX_TEXT ? text : null;
};

const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] as const;
const sources = {
  image: z.object({ type: z.string(), media_type: z.enum(IMAGE_TYPES), data: z.string().min(1) }),
  pdf: z.object({ type: z.string(), media_type: z.literal('application/pdf'), data: z.string().min(1) }),
  url: z.object({ type: z.string(), url: z.string().min(1) }),
  text: z.object({ type: z.string(), media_type: z.literal('text/plain').optional(), data: longText }),
  content: z.object({ type: z.string(), content: contentSchema }),
} as const;

/** Reads a source, and notes the fields without effect. */
const readSource = <Schema extends z.ZodType>(
  schema: Schema,
  source: JsonObject,
  at: string,
  unread: string[],
): z.output<Schema> => {
  noteUnread(unread, schema, source, at);
  return parseBody(schema, source, at);
};

/** A URL is fetched later. */
const imageUrl = (source: JsonObject, blockAt: string, unread: string[]): string => {
  const at = `${blockAt}.source`;
  const { tag } = readTagged(source, 'type', ['base64', 'url', 'file'], at);
  if (tag === 'file') throw noFiles(at);
  if (tag === 'url') return readSource(sources.url, source, at, unread).url;
  const { media_type: type, data } = readSource(sources.image, source, at, unread);
  return `data:${type};base64,${data}`;
};

/** The title and the context of a document, in front of its text. */
const headOf = (fields: readonly (string | null | undefined)[]): string =>
  fields.filter((text) => (text ?? '') !== '').join('\n');

const readDocument = (
  { source, title, context, citations: cited }: z.output<typeof schemas.document>,
  blockAt: string,
  into: PartList,
  unread: string[],
): void => {
  if (cited?.enabled === true) unread.push(`${blockAt}.citations`);
  const at = `${blockAt}.source`;
  const { tag } = readTagged(source, 'type', ['text', 'content', 'base64', 'url', 'file'], at);
  switch (tag) {
    case 'text': {
      const { data } = readSource(sources.text, source, at, unread);
      into.addText(headOf([title, context, data]), blockAt);
      return;
    }
    case 'content': {
      const { content } = readSource(sources.content, source, at, unread);
      into.addText(headOf([title, context]), blockAt);
      if (typeof content === 'string') into.addText(content, blockAt);
      else readParts(content, ['text', 'image'], `${at}.content`, into, unread);
      return;
    }
    case 'base64': {
      const { data } = readSource(sources.pdf, source, at, unread);
      const filename = (title ?? '') === '' ? 'document.pdf' : (title ?? '');
      into.addText(headOf([context]), blockAt);
      const file_data = `data:application/pdf;base64,${data}`;
      into.add({ kind: 'file', raw: { type: 'input_file', filename, file_data } }, blockAt);
      return;
    }
    case 'url': {
      const { url } = readSource(sources.url, source, at, unread);
      into.addText(headOf([title, context]), blockAt);
      into.add({ kind: 'file', raw: { type: 'input_file', file_url: url } }, blockAt);
      return;
    }
    case 'file':
      throw noFiles(at);
    default:
      assertNever(tag);
  }
};

const readSearchResult = (
  { title, source, content, citations: cited }: z.output<typeof schemas.search_result>,
  at: string,
  into: PartList,
  unread: string[],
): void => {
  if (cited?.enabled === true) unread.push(`${at}.citations`);
  into.addText(headOf([title, source]), at);
  readParts(content, ['text'], `${at}.content`, into, unread);
};

/** Reads a list of blocks of the allowed types. */
const readParts = (
  blocks: readonly unknown[],
  allowed: readonly PartType[],
  at: string,
  into: PartList,
  unread: string[],
): void => {
  for (const [index, block] of blocks.entries()) {
    const place = `${at}[${index}]`;
    const { tag, object } = readTagged(block, 'type', allowed, place);
    readPart(tag, object, place, into, unread);
  }
};

const noFiles = (at: string): GatewayError =>
  gatewayError('unsupported_value', {
    param: `${at}.type`,
    message: `Unsupported value: '${at}.type' is 'file'. This server has no Files API. Send the content as base64 or as a URL.`,
  });
