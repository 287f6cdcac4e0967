import { z } from 'zod';

import { gatewayError, type GatewayError } from '../../../canonical/failure/failure.ts';
import type { Part } from '../../../canonical/request/item.ts';
import { jsonObject, list, longText, MAX_PARTS, MAX_TEXT } from '../../../apis/bounds.ts';
import { noteUnread, parseBody, readTagged } from '../../../apis/validation.ts';
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

type ContentBlockType = keyof typeof schemas;

/** Reads a block of content. Fields without effect are added to `unread`. */
export const readPart = (
  type: ContentBlockType,
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
  allowed: readonly ContentBlockType[],
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

const PARTS = {
  text: 'A text. An empty one is left out.',
  image:
    'An image. `PROXY_IMAGE_URLS` says what is fetched here; a URL that cannot be fetched gets 400. A `file` source gets 400: there is no Files API.',
  document:
    'A text, or blocks of texts and images, with its `title` and `context` in front. A PDF, as base64 or by URL, is a file: 400 if the backend takes none. A `file` source gets 400. Wanted `citations` are named as ignored.',
  search_result: 'Texts, with `title` and `source` in front. Wanted `citations` are named as ignored.',
} as const satisfies Record<ContentBlockType, string>;

/** The blocks that each place allows, and what becomes of them. Others get 400 with their type. */
export const BLOCKS = {
  user: {
    ...PARTS,
    tool_result:
      'The output of a call. `is_error` is said in front of it: "Error: The tool call failed." Results come before the other blocks of their message, which keep their order. A PDF in a result is replaced by a note to the model if the backend takes no files.',
  },
  assistant: {
    text: 'A message of its own, as in the answer that it comes from.',
    tool_use: 'A call. Its result has to follow.',
    thinking:
      'Reasoning of an earlier answer, restored from its `signature`. Without a signature of this server it is left out.',
    redacted_thinking: 'The same for reasoning without a text.',
    server_tool_use:
      'A web search of an earlier answer. One that this server did not report is left out and named as ignored, and so are other tools.',
    web_search_tool_result: 'Part of the web search before it.',
    mcp_tool_use:
      'A call of a tool of an MCP server, which `mcp_servers` should still name. Without its result it is left out and named as ignored.',
    mcp_tool_result: 'The result of the call before it.',
  },
  system: {
    text: 'A text.',
    tool_addition: 'The model can call the named tool from here on.',
    tool_removal: 'The model can no longer call the named tool.',
  },
  tool_result: {
    ...PARTS,
    tool_reference:
      'The model can call the named tool from here on, which `tools` declares with `defer_loading`.',
  },
} as const;

type Place = keyof typeof BLOCKS;
type BlockType<Where extends Place> = Extract<keyof (typeof BLOCKS)[Where], string>;

/** The types of the blocks that a place allows. */
export const blocksOf = <Where extends Place>(where: Where): readonly BlockType<Where>[] =>
  Object.keys(BLOCKS[where]) as BlockType<Where>[];
