import type { Item, Message, Opaque, Summary } from './item.ts';
import type { TurnRequest } from './turn-request.ts';

/** As the last item of a conversation, requests a compaction instead of an answer. */
const TRIGGER: Opaque = { kind: 'opaque', raw: { type: 'compaction_trigger' } };

export const isCompactionTrigger = (item: Item): boolean =>
  'raw' in item && item.raw.type === TRIGGER.raw.type;

/** Whether the request is for a compaction. */
export const asksForCompaction = ({ items }: TurnRequest): boolean => {
  const last = items.at(-1);
  return last !== undefined && isCompactionTrigger(last);
};

/** Adds the compaction trigger, unless it is already there. */
export const withCompactionTrigger = <Ask extends TurnRequest>(request: Ask): Ask =>
  asksForCompaction(request) ? request : { ...request, items: [...request.items, TRIGGER] };

/** Whether an item is a compaction that only its backend can decrypt. */
export const isEncryptedCompaction = (item: Item): boolean =>
  item.kind === 'compaction'
    ? 'encryptedContent' in item
    : 'raw' in item &&
      item.raw.type === 'context_compaction' &&
      typeof item.raw['encrypted_content'] === 'string';

/** Whether an item stays in the conversation, before the compaction: client messages and tools, but no model output or tool results. */
export const isKeptByCompaction = (item: Item): boolean =>
  item.kind === 'message'
    ? item.role !== 'assistant'
    : item.kind === 'loaded-tools' && item.raw.type === 'additional_tools';

/** A conversation without what its last compaction replaces. A call that is still open stays, because its output follows. */
export const afterCompaction = (items: readonly Item[]): readonly Item[] => {
  const last = items.findLastIndex((item) => item.kind === 'compaction' || isEncryptedCompaction(item));
  if (last <= 0) return items;
  const before = items.slice(0, last);
  const answered = new Set(before.flatMap((item) => (item.kind === 'tool-output' ? [item.callId] : [])));
  const isOpen = (item: Item): boolean => item.kind === 'tool-call' && !answered.has(item.callId);
  return [...before.filter((item) => isKeptByCompaction(item) || isOpen(item)), ...items.slice(last)];
};

/** Asks a model for a summary, for backends without a compaction of their own. */
export const summaryRequest = (): Message => userMessage(ASK);

/** A summary as a message to the model. A user message, because the summary may quote untrusted text. */
export const summaryMessage = ({ summary }: Summary): Message => userMessage(`${PREFACE}\n\n${summary}`);

const userMessage = (text: string): Message => ({
  kind: 'message',
  role: 'user',
  parts: [{ kind: 'text', text }],
});

const ASK = `The conversation above is about to be replaced by a summary, because it has become too long. Write that summary now.

The reader of this summary sees the messages of the user again and your summary, and nothing else: none of your answers, no tool calls, no outputs. Include:
- what the user wants, and every rule or preference that still applies;
- what has been done and found out, with the exact names, paths, commands, numbers, links and short quotes that will be needed;
- what was decided and why, and what was tried and failed;
- the current state, and the next steps.

Write in the language of the conversation, briefly but completely. Do not call tools, and do not continue the task itself.`;

const PREFACE =
  'The conversation so far was replaced by this summary of it, to save room. Go on from where it ends; what it says has been done need not be done again.';
