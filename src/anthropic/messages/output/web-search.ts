import type { HostedCall, Item, Message } from '../../../canonical/request/item.ts';
import { isJsonObject, type JsonObject } from '../../../kit/json/json.ts';
import { citationsOf } from './citations.ts';
import type { Block } from './blocks.ts';

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
