import {
  isMessage,
  wordsOf,
  type Message,
  type Produced,
  type ToolCall,
  type HostedCall,
  type Item,
} from '../../../canonical/request/item.ts';
import { assertNever } from '../../../kit/assert-never.ts';
import { type Signer, projectReasoning, type ThinkingDisplay } from '../reasoning/thinking-block.ts';
import { parseJsonObject, type JsonObject, isJsonObject, type Json } from '../../../kit/json/json.ts';

/** One block of a message, as it is in JSON. */
export type Block = Readonly<Record<string, unknown>> & { readonly type: string };

export interface BlockOptions {
  readonly thinking: ThinkingDisplay | null;
  readonly signer: Signer;
}

/** The blocks of an answer. Empty texts have none, and neither has a call whose arguments are cut. */
export const projectBlocks = (items: readonly Produced[], options: BlockOptions): readonly Block[] => {
  const results = new SearchResults();
  const blocks = items.flatMap((item): readonly Block[] => {
    if (isMessage(item)) results.cited(item);
    if (!isWebSearch(item)) return blocksOfItem(item, options);
    return [...results.rest(), { ...searchHead(item), input: searchInput(item) }, ...results.searched(item)];
  });
  return [...blocks, ...results.rest()];
};

const blocksOfItem = (item: Produced, { thinking, signer }: BlockOptions): readonly Block[] => {
  switch (item.kind) {
    case 'message':
      return textsOf(item);
    case 'reasoning':
      return thinking === null ? [] : [{ ...projectReasoning(item, thinking, signer) }];
    case 'tool-call': {
      const input = toolInput(item);
      return input === null ? [] : [{ ...callHead(item), input }];
    }
    case 'hosted-call':
      return isMcpCall(item) ? mcpCallBlocks(item) : [];
    case 'compaction':
    case 'opaque':
      // They are not shown: `arrange` leaves them out.
      return [];
    default:
      return assertNever(item);
  }
};

/** A text and a refusal are blocks of their own. */
const textsOf = (message: Message): readonly Block[] => {
  const [text, refusal] = [wordsOf(message, 'text'), wordsOf(message, 'refusal')];
  const citations = citationsOf(message);
  return [
    ...(text === '' ? [] : [{ type: 'text', text, ...(citations.length === 0 ? {} : { citations }) }]),
    ...(refusal === '' ? [] : [{ type: 'text', text: refusal }]),
  ];
};

/** A call without its arguments. */
export const callHead = ({ callId, name }: ToolCall) => ({
  type: 'tool_use' as const,
  id: callId,
  name,
});

/**
 * The arguments of a call; null if they are cut. `tool_use` holds an object, so any other text becomes the field
 * `arguments`: the client then reports a schema violation, and nothing is lost.
 */
export const toolInput = ({ input, status }: ToolCall): JsonObject | null => {
  const parsed = parseJsonObject(input);
  if (parsed !== null) return parsed;
  if (status === 'incomplete') return null;
  return isBlank(input) ? {} : { arguments: input };
};

/** Sends the arguments of one call as they arrive. */
export class ToolInputStream {
  #kind: 'unknown' | 'object' | 'other' = 'unknown';
  /** White space in front. */
  #held = '';

  /** The text to send now. */
  add(delta: string): string {
    if (this.#kind !== 'unknown') return this.#kind === 'object' ? delta : '';
    const first = /[^ \t\n\r]/.exec(delta)?.[0];
    const text = this.#held + delta;
    if (first === undefined) this.#held = text;
    else this.#kind = first === '{' ? 'object' : 'other';
    return first === '{' ? text : '';
  }

  /** The rest to send at the end of the call; null if it is cut, or what was sent is not valid JSON. */
  end(call: ToolCall): string | null {
    if (this.#kind === 'object') return parseJsonObject(call.input) === null ? null : '';
    const input = toolInput(call);
    if (input === null) return null;
    return this.#kind === 'unknown' ? '' : JSON.stringify(input);
  }
}

const isBlank = (text: string): boolean => /^[ \t\n\r]*$/.test(text);

/** Citations of pages. The backend does not say which text of a page is cited. */
export const citationsOf = ({ parts }: Message) =>
  parts
    .flatMap((part) => (part.kind === 'text' ? (part.annotations ?? []) : []))
    .flatMap((one) => {
      if (!isJsonObject(one) || one['type'] !== 'url_citation' || typeof one['url'] !== 'string') return [];
      const { url, title } = one;
      return [
        {
          type: 'web_search_result_location' as const,
          url,
          title: typeof title === 'string' ? title : null,
          encrypted_index: '',
          cited_text: '',
        },
      ];
    });

type McpCall = HostedCall & { readonly id: string };

export const isMcpCall = (item: Item): item is McpCall =>
  item.kind === 'hosted-call' && item.id !== undefined && item.raw.type === 'mcp_call';

/** The call of a tool of an MCP server, and what the server answered, or why it did not. */
export const mcpCallBlocks = ({ id, raw }: McpCall): readonly Block[] => {
  const { name, server_label: server, arguments: given, output, error } = raw;
  const useId = `mcptoolu_${id}`;
  const isError = (error ?? null) !== null;
  const text = isError ? errorText(error) : typeof output === 'string' ? output : '';
  return [
    { type: 'mcp_tool_use', id: useId, name, server_name: server, input: inputOf(given) },
    {
      type: 'mcp_tool_result',
      tool_use_id: useId,
      is_error: isError,
      content: text === '' ? [] : [{ type: 'text', text }],
    },
  ];
};

/** Models write an object; any other text is its field `arguments`. */
const inputOf = (given: Json | undefined): JsonObject => {
  const text = typeof given === 'string' ? given : '';
  return parseJsonObject(text) ?? (text.trim() === '' ? {} : { arguments: text });
};

/** OpenAI's errors have a message, or the content of the tool's result. */
const errorText = (error: Json | undefined): string => {
  if (typeof error === 'string') return error;
  if (!isJsonObject(error)) return JSON.stringify(error ?? null);
  const { message, content } = error;
  if (typeof message === 'string') return message;
  const texts = Array.isArray(content)
    ? content.flatMap((part: Json) =>
        isJsonObject(part) && typeof part['text'] === 'string' ? [part['text']] : [],
      )
    : [];
  return texts.length > 0 ? texts.join('\n') : JSON.stringify(error);
};

/** A page that a search found. */
interface Page {
  readonly url: string;
  readonly title: string;
}

type Search = HostedCall & { readonly id: string };

export const isWebSearch = (item: Item): item is Search =>
  item.kind === 'hosted-call' && item.id !== undefined && item.raw.type === 'web_search_call';

/** The search as a call of Anthropic's tool, without its input. */
export const searchHead = ({ id }: Search) => ({
  type: 'server_tool_use' as const,
  id: useIdOf(id),
  name: 'web_search' as const,
});

/** The backend's action without what it found. */
export const searchInput = ({ raw }: Search): JsonObject => {
  const { sources: _, ...action } = actionOf(raw);
  if (action['type'] !== 'search') return action;
  const { type: _type, ...input } = action;
  return input;
};

/**
 * The results of searches. Some backends do not report what a search found: then its result are the pages that the
 * text after it cites, and it follows that text.
 */
export class SearchResults {
  /** The search whose result is not known yet. */
  #pending: Search | null = null;
  readonly #pages = new Map<string, Page>();

  /** The results to write after this search. */
  searched(search: Search): readonly Block[] {
    const sources = sourcesOf(search);
    if (hasFailed(search)) return [resultOf(search, FAILED)];
    if (sources.length > 0) return [resultOf(search, sources.map(pageResult))];
    this.#pending = search;
    return [];
  }

  cited(message: Message): void {
    if (this.#pending === null) return;
    for (const { url, title } of citationsOf(message))
      if (!this.#pages.has(url)) this.#pages.set(url, { url, title: title ?? url });
  }

  /** The result that waits, before the next search or at the end. */
  rest(): readonly Block[] {
    if (this.#pending === null) return [];
    const result = resultOf(this.#pending, [...this.#pages.values()].map(pageResult));
    this.#pending = null;
    this.#pages.clear();
    return [result];
  }
}

const useIdOf = (id: string): string => `srvtoolu_${id}`;

const FAILED = { type: 'web_search_tool_result_error', error_code: 'unavailable' };

const resultOf = ({ id }: Search, content: unknown): Block => ({
  type: 'web_search_tool_result',
  tool_use_id: useIdOf(id),
  content,
});

const pageResult = ({ url, title }: Page) => ({
  type: 'web_search_result',
  url,
  title,
  encrypted_content: '',
  page_age: null,
});

const hasFailed = ({ status, raw }: Search): boolean => status === 'incomplete' || raw['status'] === 'failed';

const actionOf = ({ action }: JsonObject): JsonObject => (isJsonObject(action) ? action : {});

const sourcesOf = ({ raw }: Search): readonly Page[] => {
  const { sources } = actionOf(raw);
  if (!Array.isArray(sources)) return [];
  return sources.flatMap((source) => {
    if (!isJsonObject(source) || typeof source['url'] !== 'string') return [];
    const { url, title } = source;
    return [{ url, title: typeof title === 'string' ? title : url }];
  });
};
