import type { Item, Message, Opaque, Summary } from './item.ts';
import type { TurnRequest } from './turn-request.ts';

/** As the last item of a conversation it asks for a compaction instead of an answer. */
const TRIGGER: Opaque = { kind: 'opaque', raw: { type: 'compaction_trigger' } };

export const isTrigger = (item: Item): boolean => 'raw' in item && item.raw.type === TRIGGER.raw.type;

/** Whether a compaction of the conversation is asked for. */
export const asksForCompaction = ({ items }: Pick<TurnRequest, 'items'>): boolean => {
  const last = items.at(-1);
  return last !== undefined && isTrigger(last);
};

/** The same request, asking for a compaction. */
export const compacting = <Ask extends TurnRequest>(request: Ask): Ask =>
  asksForCompaction(request) ? request : { ...request, items: [...request.items, TRIGGER] };

/** What only the backend can read that made it, whatever it calls it. */
export const isSealed = (item: Item): boolean =>
  item.kind === 'compaction'
    ? 'encryptedContent' in item
    : 'raw' in item &&
      item.raw.type === 'context_compaction' &&
      typeof item.raw['encrypted_content'] === 'string';

/** What of a conversation stands in front of its compaction: all that the model was told, and nothing that it said or saw. */
export const staysBesideCompaction = (item: Item): boolean =>
  item.kind === 'message'
    ? item.role !== 'assistant'
    : item.kind === 'loaded-tools' && item.raw.type === 'additional_tools';

/** How a model that has no compaction of its own is asked for one. */
export const summaryRequest = (): Message => toldByUser(ASK);

/** How a model reads a summary. It may quote anybody, so it has no more weight than what a user says. */
export const summaryInWords = ({ summary }: Summary): Message => toldByUser(`${PREFACE}\n\n${summary}`);

const toldByUser = (text: string): Message => ({
  kind: 'message',
  role: 'user',
  parts: [{ kind: 'text', text }],
});

const ASK = `The conversation above is about to be replaced by a summary, because it has become too long. Write that summary now.

Whoever goes on reads the messages of the user again and your summary, and nothing else: none of your answers, no calls of tools, no outputs. Say:
- what the user wants, and every rule or preference that still holds;
- what has been done and found out, with the exact names, paths, commands, numbers, links and short quotes that will be needed;
- what was decided and why, and what was tried and failed;
- where things stand, and what comes next.

Write in the language of the conversation, briefly and in full. Call no tool, and do not go on with the task itself.`;

const PREFACE =
  'The conversation so far was replaced by this summary of it, to save room. Go on from where it ends; what it says has been done need not be done again.';
