import type { Item, Message, Part, ToolCall, ToolOutput } from '../../canonical/request/item.ts';
import { titleOf } from '../../canonical/request/tool.ts';
import { yieldToLoop } from '../../kit/async/event-loop.ts';
import { writtenOf } from './declared-tools.ts';
import { writeCall } from './written-call.ts';

/** An item of a history in prose, and where what it is made of begins in the client's. */
export interface ProseItem {
  readonly place: number;
  /** The item itself, or the message that takes the place of all of them, without its parts. */
  readonly head: Item;
  /** What is written into the message. */
  readonly written: readonly Written[];
}

type Written = Message | ToolCall | NamedOutput;
/** An output, and what the model called. */
type NamedOutput = ToolOutput & { readonly title: string | null };

/**
 * Calls are what the assistant wrote, outputs what it was told. Those that follow each other are one
 * message, and a call belongs to the words in front of it, as when the model wrote it.
 */
export const proseHistory = (items: readonly Item[]): readonly ProseItem[] => {
  const history: { place: number; head: Item; written: Written[] }[] = [];
  /** By the id of the call, which may come again in a later round. */
  const titles = new Map<string, string>();
  for (const [place, item] of items.entries()) {
    const last = history.at(-1);
    if (item.kind === 'tool-call') {
      titles.set(item.callId, titleOf(item));
      const words = last?.written.length === 0 ? assistantWords(last.head) : null;
      if (words !== null) last?.written.push(words, item);
      else if (last?.written.at(-1)?.kind === 'tool-call') last.written.push(item);
      else history.push({ place, head: messageBy('assistant'), written: [item] });
    } else if (item.kind === 'tool-output') {
      const output = { ...item, title: titles.get(item.callId) ?? null };
      if (last?.written.at(-1)?.kind === 'tool-output') last.written.push(output);
      else history.push({ place, head: messageBy('user'), written: [output] });
    } else if (!isOfToolSearch(item)) history.push({ place, head: item, written: [] });
  }
  return history;
};

/** Tools that a conversation brings along are told with all others: nothing is left of the search for them. */
const isOfToolSearch = (item: Item): boolean =>
  item.kind === 'loaded-tools' || (item.kind === 'hosted-call' && item.raw.type === 'tool_search_call');

const messageBy = (role: 'assistant' | 'user'): Message => ({ kind: 'message', role, parts: [] });

/** What the assistant said, if it is text and no more. */
const assistantWords = (item: Item): Message | null =>
  item.kind === 'message' &&
  item.role === 'assistant' &&
  item.parts.every((part) => part.kind === 'text' && (part.annotations ?? []).length === 0)
    ? item
    : null;

/** The history with its texts. It may be long, so it is written in turns. */
export const writeHistory = async (
  history: readonly ProseItem[],
  signal: AbortSignal,
): Promise<readonly Item[]> => {
  const all: Item[] = [];
  for (const { head, written } of history) {
    const parts = new PartsWriter();
    for (const one of written) {
      await yieldToLoop(signal);
      parts.separate();
      for (const part of partsOf(one)) parts.add(part);
    }
    all.push(written.length === 0 || head.kind !== 'message' ? head : { ...head, parts: parts.end() });
  }
  return all;
};

/** Texts that follow each other become one. */
class PartsWriter {
  readonly #parts: Part[] = [];
  #texts: string[] = [];

  add(part: Part): void {
    if (part.kind !== 'text') this.#parts.push(...this.#text(), part);
    else if (part.text !== '') this.#texts.push(part.text);
  }

  /** Calls and outputs stand apart from the text in front of them. */
  separate(): void {
    const last = this.#texts.at(-1)?.at(-1) ?? ' ';
    if (last.trim() !== '') this.#texts.push('\n');
  }

  end(): readonly Part[] {
    return [...this.#parts, ...this.#text()];
  }

  #text(): readonly Part[] {
    const text = this.#texts.join('');
    this.#texts = [];
    return text === '' ? [] : [textOf(text)];
  }
}

const partsOf = (item: Written): readonly Part[] => {
  if (item.kind === 'message') return item.parts;
  if (item.kind === 'tool-call') return [textOf(writeCall(writtenOf(item)))];
  const name = item.title === null ? '' : ` name="${attribute(item.title)}"`;
  const output = typeof item.output === 'string' ? [textOf(item.output)] : item.output;
  return [
    textOf(`<tool_result${name} call_id="${attribute(item.callId)}">`),
    ...output,
    textOf('</tool_result>'),
  ];
};

const textOf = (text: string): Part => ({ kind: 'text', text });

const attribute = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
