import type { Item, Message, Part, ToolCall, ToolOutput } from '../../canonical/request/item.ts';
import { titleOf } from '../../canonical/request/tool.ts';
import { yieldToLoop } from '../../kit/async/event-loop.ts';
import { writtenOf } from './declared-tools.ts';
import { writeCall } from './written-call.ts';

/** An item of a history in prose. */
export interface ProseItem {
  /** The index of its first source item in the client's history. */
  readonly place: number;
  /** The item itself, or the message that replaces several items, without its parts. */
  readonly head: Item;
  /** The items to write into the message. */
  readonly written: readonly Written[];
}

/** An output has the title of the tool that it is from. */
type Written = Message | ToolCall | (ToolOutput & { readonly title: string | null });

/**
 * Turns calls into assistant messages and outputs into user messages. Adjacent ones share a message, and calls join the
 * assistant text before them, as the model wrote them.
 */
export const proseHistory = (items: readonly Item[]): readonly ProseItem[] => {
  const history: { place: number; head: Item; written: Written[] }[] = [];
  /** By call id; ids may be used again in later rounds. */
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
      const output = { ...item, title: titleOfOutput(item, titles) };
      if (last?.written.at(-1)?.kind === 'tool-output') last.written.push(output);
      else history.push({ place, head: messageBy('user'), written: [output] });
    } else if (!isOfToolSearch(item)) history.push({ place, head: item, written: [] });
  }
  return history;
};

const titleOfOutput = (
  { callId, name, namespace }: ToolOutput,
  titles: ReadonlyMap<string, string>,
): string | null => {
  if (callId !== null) return titles.get(callId) ?? null;
  return name === undefined ? null : titleOf({ name, ...(namespace === undefined ? {} : { namespace }) });
};

/** Loaded tools are described with all others, so the search for them is dropped. */
const isOfToolSearch = (item: Item): boolean =>
  item.kind === 'loaded-tools' || (item.kind === 'hosted-call' && item.raw.type === 'tool_search_call');

const messageBy = (role: 'assistant' | 'user'): Message => ({ kind: 'message', role, parts: [] });

/** The item, if it is an assistant message of plain text. */
const assistantWords = (item: Item): Message | null =>
  item.kind === 'message' &&
  item.role === 'assistant' &&
  item.parts.every((part) => part.kind === 'text' && (part.annotations ?? []).length === 0)
    ? item
    : null;

/** The history with its texts. */
export const writeHistory = async (
  history: readonly ProseItem[],
  signal: AbortSignal,
): Promise<readonly Item[]> => {
  const all: Item[] = [];
  for (const { head, written } of history) {
    const lists: (readonly Part[])[] = [];
    for (const one of written) {
      await yieldToLoop(signal);
      lists.push(partsOf(one));
    }
    all.push(written.length === 0 || head.kind !== 'message' ? head : { ...head, parts: joined(lists) });
  }
  return all;
};

/** Joins adjacent texts. Each list begins on a new line. */
const joined = (lists: readonly (readonly Part[])[]): readonly Part[] => {
  const parts: Part[] = [];
  let texts: string[] = [];
  const flush = (): void => {
    if (texts.length > 0) parts.push(textOf(texts.join('')));
    texts = [];
  };
  for (const list of lists) {
    const last = texts.at(-1)?.at(-1) ?? ' ';
    if (last.trim() !== '') texts.push('\n');
    for (const part of list) {
      if (part.kind !== 'text') {
        flush();
        parts.push(part);
      } else if (part.text !== '') texts.push(part.text);
    }
  }
  flush();
  return parts;
};

const partsOf = (item: Written): readonly Part[] => {
  if (item.kind === 'message') return item.parts;
  if (item.kind === 'tool-call') return [textOf(writeCall(writtenOf(item)))];
  const name = item.title === null ? '' : ` name="${attribute(item.title)}"`;
  const call = item.callId === null ? '' : ` call_id="${attribute(item.callId)}"`;
  const output = typeof item.output === 'string' ? [textOf(item.output)] : item.output;
  return [textOf(`<tool_result${name}${call}>`), ...output, textOf('</tool_result>')];
};

const textOf = (text: string): Part => ({ kind: 'text', text });

const attribute = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
