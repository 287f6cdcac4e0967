import type { Item } from '../../canonical/item.ts';
import type { AskedTurn } from '../../canonical/turn-request.ts';
import { summaryOf, titleOf } from './short-texts.ts';

/** What a client asks for beside the conversation of its user: a name for it. */
export type SideKind = 'title' | 'title-and-summary' | 'thread-title';

export interface SideRequest {
  readonly kind: SideKind;
  /** What a model wrote, as the client wants it; null: that is none. */
  readonly shape: (text: string) => string | null;
}

/** The words by which clients ask for it. They are all that counts: who sends them does not matter. */
const FROM_USER = 'Generate a concise title (max 5 words) for this conversation';
const FROM_SYSTEM: Readonly<Record<Exclude<SideKind, 'title'>, string>> = {
  'title-and-summary': 'Your task is to analyze a conversation and generate both a title and a summary.',
  'thread-title': 'You are a title generator. You output ONLY a thread title.',
};

/**
 * Whether a request only wants a name for a conversation. Obsidian Copilot sends one message, or a prompt and
 * one message; opencode a prompt and how the conversation began. Whatever asks for more is none: other
 * requests of the same clients look alike, and what they are answered is used as content.
 */
export const sideRequestOf = (request: AskedTurn, choices: number): SideRequest | null => {
  if (choices > 1 || request.tools.length > 0 || wantsLogprobs(request)) return null;
  if (!request.items.every(({ kind }) => kind === 'message')) return null;
  if (request.format.kind === 'text') {
    if (isTitle(request)) return { kind: 'title', shape: titleOf };
    if (promptOf(request).startsWith(FROM_SYSTEM['thread-title']))
      return { kind: 'thread-title', shape: titleOf };
  }
  return isSummary(request) ? { kind: 'title-and-summary', shape: summaryOf } : null;
};

const isTitle = ({ instructions, items }: AskedTurn): boolean =>
  (instructions ?? '') === '' && items.length === 1 && startOf(items[0], 'user').startsWith(FROM_USER);

/** A schema says by itself what the answer looks like, and that may be something else. */
const isSummary = (request: AskedTurn): boolean => {
  const { instructions, items, format } = request;
  const rest = (instructions ?? '') === '' ? items.slice(1) : items;
  return (
    format.kind !== 'json-schema' &&
    promptOf(request).startsWith(FROM_SYSTEM['title-and-summary']) &&
    rest.length === 1 &&
    startOf(rest[0], 'user') !== ''
  );
};

/** The text with which the prompt of a request begins. */
const promptOf = ({ instructions, items }: AskedTurn): string =>
  (instructions ?? '') === '' ? startOf(items[0], 'system', 'developer') : (instructions ?? '');

/** The text with which a message of such a role begins; empty: it is none. */
const startOf = (item: Item | undefined, ...roles: readonly string[]): string => {
  if (item?.kind !== 'message' || !roles.includes(item.role)) return '';
  const [first] = item.parts;
  return first?.kind === 'text' ? first.text : '';
};

/** They are of the tokens that the model wrote, and here the text is cut to size. */
const wantsLogprobs = ({ logprobs, include }: AskedTurn): boolean =>
  logprobs.isNeeded || logprobs.top !== null || include.includes('message.output_text.logprobs');
