import type { Item, Message, Part, ToolCall, ToolOutput } from '../../canonical/item.ts';
import { breathe } from '../../kit/loop-turns.ts';
import { titleOf, writtenOf } from './declared-tools.ts';
import { writeCall } from './written-call.ts';

/** An item of a history in prose, and where what it is made of begins in the client's. */
export interface ProseItem {
  readonly place: number;
  /** The item itself, or the message that takes the place of all of them, without its parts. */
  readonly head: Item;
  /** What is written into the message. */
  readonly written: readonly (Message | ToolCall | ToolOutput)[];
}

/**
 * Calls are what the assistant wrote, outputs what it was told. Those that follow each other are one
 * message, and a call belongs to the words in front of it, as when the model wrote it.
 */
export const proseHistory = (items: readonly Item[]): readonly ProseItem[] => {
  const history: { place: number; head: Item; written: (Message | ToolCall | ToolOutput)[] }[] = [];
  for (const [place, item] of items.entries()) {
    const last = history.at(-1);
    if (item.kind === 'tool-call') {
      if (last !== undefined && isAssistants(last)) {
        if (last.written.length === 0) last.written.push(last.head as Message);
        last.written.push(item);
      } else history.push({ place, head: messageBy('assistant'), written: [item] });
    } else if (item.kind === 'tool-output') {
      if (last?.written.at(-1)?.kind === 'tool-output') last.written.push(item);
      else history.push({ place, head: messageBy('user'), written: [item] });
    } else history.push({ place, head: item, written: [] });
  }
  return history;
};

const messageBy = (role: 'assistant' | 'user'): Message => ({ kind: 'message', role, parts: [] });

const isAssistants = ({ head }: { readonly head: Item }): boolean =>
  head.kind === 'message' &&
  head.role === 'assistant' &&
  head.parts.every((part) => part.kind === 'text' && (part.annotations ?? []).length === 0);

/** The history with its texts. It may be long, so it is written in turns. */
export const writeHistory = async (
  history: readonly ProseItem[],
  items: readonly Item[],
): Promise<readonly Item[]> => {
  const titles = new Map(
    items.flatMap((item) =>
      item.kind === 'tool-call' ? [[item.callId, titleOf(item.name, item.namespace)] as const] : [],
    ),
  );
  const all: Item[] = [];
  for (const { head, written } of history) {
    const parts: Part[] = [];
    for (const one of written) {
      await breathe();
      if (needsBreak(parts.at(-1))) addPart(parts, textOf('\n'));
      for (const part of partsOf(one, titles)) addPart(parts, part);
    }
    all.push(written.length === 0 || head.kind !== 'message' ? head : { ...head, parts });
  }
  return all;
};

const partsOf = (
  item: Message | ToolCall | ToolOutput,
  titles: ReadonlyMap<string, string>,
): readonly Part[] => {
  if (item.kind === 'message') return item.parts;
  if (item.kind === 'tool-call') return [textOf(writeCall(writtenOf(item)))];
  const title = titles.get(item.callId);
  const name = title === undefined ? '' : ` name="${attribute(title)}"`;
  const output = typeof item.output === 'string' ? [textOf(item.output)] : item.output;
  return [
    textOf(`<tool_result${name} call_id="${attribute(item.callId)}">`),
    ...output,
    textOf('</tool_result>'),
  ];
};

const textOf = (text: string): Part => ({ kind: 'text', text });

const attribute = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');

/** Calls and outputs stand apart from what is in front of them. */
const needsBreak = (last: Part | undefined): boolean => last?.kind === 'text' && /\S$/.test(last.text);

/** Texts that follow each other are one. */
const addPart = (parts: Part[], part: Part): void => {
  const last = parts.at(-1);
  if (part.kind === 'text' && last?.kind === 'text') {
    parts[parts.length - 1] = textOf(last.text + part.text);
  } else parts.push(part);
};
