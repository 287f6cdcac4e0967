import type { SideRequest } from '../../turns/api.ts';
import type { Item } from '../../canonical/request/item.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { DetectedClient, ClientName } from '../../apis/clients/detect-client.ts';
import { jsonObjectWithin, textIn, wellFormedJson } from '../../kit/json/json.ts';

/** What a side request asks for. */
type SideKind = 'title' | 'title-and-summary' | 'thread-title';

/** A title prompt of a client, matched completely. */
interface TitlePrompt {
  readonly kind: SideKind;
  /** The clients that send it. */
  readonly clients: readonly ClientName[];
  /** The system prompt; null: the request has none. */
  readonly prompt: RegExp | null;
  /** The first message after the system prompt. */
  readonly message: RegExp;
  /** Whether the messages of the conversation follow. */
  readonly hasMore: boolean;
}

/** The prompts of Obsidian Copilot 3.1.5 to 4.0.2 and opencode 1.18. */
const TITLE_PROMPTS: readonly TitlePrompt[] = [
  {
    kind: 'title',
    clients: ['obsidian-copilot'],
    prompt: null,
    // The conversation is at most six messages, each cut to 200 characters.
    message:
      /^Generate a concise title \(max 5 words\) for this conversation based on its content\. Return only the title without any explanation or quotes\.\n\nConversation:\n\w+: [\s\S]{0,1500}$/,
    hasMore: false,
  },
  {
    kind: 'title-and-summary',
    clients: ['obsidian-copilot'],
    prompt:
      /^Your task is to analyze a conversation and generate both a title and a summary\.\n\n# OUTPUT FORMAT\n[\s\S]{1,1000}\n\n# RULES\n\* Use the same language as the conversation\s*$/,
    message:
      /^<conversation_text>\n[\s\S]*\n<\/conversation_text>\n\nGenerate a title and summary for this conversation:\s*$/,
    hasMore: false,
  },
  {
    kind: 'thread-title',
    // Obsidian Copilot runs opencode for its agent mode.
    clients: ['opencode', 'obsidian-copilot'],
    prompt:
      /^You are a title generator\. You output ONLY a thread title\. Nothing else\.\n\n<task>\n[\s\S]{1,4000}\n<\/examples>\s*$/,
    message: /^Generate a title for this conversation:\s*$/,
    hasMore: true,
  },
];

/**
 * Detects a title or summary request; null for ordinary requests. The headers must name a client that sends such
 * requests, and the whole request must match that client's prompt. So a user who types the same words gets the
 * requested model.
 */
export const sideRequestOf = (
  request: TurnRequest,
  choices: number,
  client: Pick<DetectedClient, 'name' | 'source'>,
): SideRequest | null => {
  if (client.source !== 'header' || choices > 1 || request.tools.length > 0) return null;
  if (wantsLogprobs(request) || !request.items.every(({ kind }) => kind === 'message')) return null;
  const titlePrompt = TITLE_PROMPTS.find((one) => one.clients.includes(client.name) && matches(one, request));
  return titlePrompt === undefined
    ? null
    : { kind: titlePrompt.kind, clean: titlePrompt.kind === 'title-and-summary' ? cleanSummary : cleanTitle };
};

const matches = (titlePrompt: TitlePrompt, request: TurnRequest): boolean => {
  // A request with a schema defines its own answer format.
  const takesFormat =
    request.format.kind === 'text' ||
    (titlePrompt.kind === 'title-and-summary' && request.format.kind === 'json-object');
  if (!takesFormat) return false;
  const { prompt, messages } = partsOf(request);
  const [message, ...more] = messages;
  return (
    (titlePrompt.prompt === null ? prompt === null : prompt !== null && titlePrompt.prompt.test(prompt)) &&
    titlePrompt.message.test(textOf(message, 'user') ?? '') &&
    titlePrompt.hasMore === more.length > 0
  );
};

/** The system prompt, from the instructions or the first message, and the messages after it. */
const partsOf = ({
  instructions,
  items,
}: TurnRequest): { readonly prompt: string | null; readonly messages: readonly Item[] } => {
  if ((instructions ?? '') !== '') return { prompt: instructions, messages: items };
  const prompt = textOf(items[0], 'system', 'developer');
  return { prompt, messages: prompt === null ? items : items.slice(1) };
};

/** The text of a message with one of these roles and exactly one text part; null for others. */
const textOf = (item: Item | undefined, ...roles: readonly string[]): string | null => {
  if (item?.kind !== 'message' || !roles.includes(item.role) || item.parts.length !== 1) return null;
  const [only] = item.parts;
  return only?.kind === 'text' ? only.text : null;
};

/** Log probabilities belong to the model's tokens, but side requests rewrite the text. */
const wantsLogprobs = ({ logprobs, include }: TurnRequest): boolean =>
  logprobs.isNeeded || logprobs.top !== null || include.includes('message.output_text.logprobs');

/** Clients cut longer titles, even in the middle of a word. */
const MAX_TITLE = 50;
/** Longer lines are cut before cleaning. */
const MAX_LINE = 500;

/** Reduces a model's title to one line of plain text; null if nothing is left. */
export const cleanTitle = (text: string): string | null => {
  const line = withoutThinking(text)
    .split(/[\r\n]+/)
    .map((one) => one.trim())
    .find((one) => one !== '' && !one.startsWith('```'));
  const title = withinLength(undecorated(line?.slice(0, MAX_LINE) ?? ''));
  return title === '' ? null : title;
};

/** Extracts the JSON object with `title` and `summary` from a text; null if it is missing or incomplete. */
export const cleanSummary = (text: string): string | null => {
  const json = jsonObjectWithin(withoutThinking(text));
  if (json === null) return null;
  const title = cleanTitle(textIn(json, 'title'));
  const summary = textIn(json, 'summary').trim();
  return title === null || summary === '' ? null : wellFormedJson({ title, summary });
};

/** Removes `<think>…</think>`, which some models write into their answer. */
const withoutThinking = (text: string): string => {
  if (!text.trimStart().startsWith('<think>')) return text;
  const [, ...rest] = text.split('</think>');
  return rest.join('');
};

const undecorated = (line: string): string => {
  const title = line
    // Heading, list entry or quotation.
    .replace(/^(?:#{1,6}|[-*>])\s+/, '')
    .replaceAll(/\*\*([^*]+)\*\*/g, '$1')
    .replaceAll(/`+([^`]+)`+/g, '$1')
    .replace(/^title:\s*/i, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  // At most two levels of decoration occur, such as italics and quotes.
  return withoutPair(withoutPair(title));
};

const PAIRS: ReadonlySet<string> = new Set(['""', "''", '“”', '‘’', '«»', '„“', '「」', '**', '__']);

/** Removes a pair of quotes or emphasis marks around the whole title. */
const withoutPair = (title: string): string => {
  const inner = title.slice(1, -1).trim();
  const isPair = PAIRS.has(title.charAt(0) + title.charAt(title.length - 1));
  return isPair && inner !== '' && !inner.includes(title.charAt(0)) ? inner : title;
};

const CHARACTERS = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Cuts a title after a word if possible, else after a character. */
const withinLength = (title: string): string => {
  if (title.length <= MAX_TITLE) return title;
  const space = title.lastIndexOf(' ', MAX_TITLE);
  const head = space > MAX_TITLE / 2 ? title.slice(0, space) : wholeCharacters(title);
  return head.replace(/[\s,;:–—-]+$/, '');
};

const wholeCharacters = (title: string): string => {
  let end = 0;
  for (const { index, segment } of CHARACTERS.segment(title.slice(0, 2 * MAX_TITLE))) {
    if (index + segment.length > MAX_TITLE) break;
    end = index + segment.length;
  }
  return title.slice(0, end);
};
