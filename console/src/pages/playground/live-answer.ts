import type { Item } from './items.ts';
import type { StreamEvent } from '../../api/read-events.ts';

export interface TokenUsage {
  readonly input_tokens: number;
  readonly input_tokens_details?: { readonly cached_tokens?: number };
  readonly output_tokens: number;
  readonly output_tokens_details?: { readonly reasoning_tokens?: number };
}

/** An item while the model writes it. */
export interface LiveItem {
  /** Its place in the answer. */
  readonly id: number;
  /** As the stream began it, or complete. */
  readonly item: Item;
  /** What has arrived of its text, arguments or summary. */
  readonly text: string;
  readonly isDone: boolean;
}

/** An answer as far as it has arrived. */
export interface LiveAnswer {
  readonly items: readonly LiveItem[];
  /** Null until the end. */
  readonly end: 'completed' | 'failed' | 'incomplete' | null;
  /** Why it failed or is incomplete. */
  readonly reason: string | null;
  readonly usage: TokenUsage | null;
}

export const NO_ANSWER: LiveAnswer = { items: [], end: null, reason: null, usage: null };

interface ResponseObject {
  readonly output?: readonly Item[];
  readonly usage?: TokenUsage | null;
  readonly error?: { readonly message?: string; readonly code?: string | null } | null;
  readonly incomplete_details?: { readonly reason?: string } | null;
}

const ENDS = {
  'response.completed': 'completed',
  'response.failed': 'failed',
  'response.incomplete': 'incomplete',
} as const;

const changed = (
  answer: LiveAnswer,
  event: StreamEvent,
  change: (before: LiveItem) => LiveItem,
): LiveAnswer => {
  const index = Number(event['output_index']);
  const before = answer.items[index];
  return before === undefined ? answer : { ...answer, items: answer.items.with(index, change(before)) };
};

/** A part of a text that begins a new paragraph: summaries have several. */
const isNewPart = ({ type }: StreamEvent): boolean => type === 'response.reasoning_summary_part.added';

/** The answer after an event. */
export const afterEvent = (answer: LiveAnswer, event: StreamEvent): LiveAnswer => {
  const { type } = event;
  if (type === 'response.output_item.added') {
    const item = event['item'] as Item;
    return {
      ...answer,
      items: [...answer.items, { id: answer.items.length, item, text: '', isDone: false }],
    };
  }
  if (type === 'response.output_item.done') {
    const item = event['item'] as Item;
    return changed(answer, event, (before) => ({ ...before, item, isDone: true }));
  }
  if (isNewPart(event))
    return changed(answer, event, (before) =>
      before.text === '' ? before : { ...before, text: `${before.text}\n\n` },
    );
  if (type.endsWith('.delta') && typeof event['delta'] === 'string') {
    const { delta } = event;
    return changed(answer, event, (before) => ({ ...before, text: before.text + delta }));
  }
  if (type === 'error') return { ...answer, end: 'failed', reason: failureIn(event) };
  const end = ENDS[type as keyof typeof ENDS];
  return end === undefined ? answer : ended(answer, end, event['response'] as ResponseObject);
};

const ended = (
  { items }: LiveAnswer,
  end: NonNullable<LiveAnswer['end']>,
  { output = [], usage = null, error, incomplete_details: details }: ResponseObject,
): LiveAnswer => ({
  items:
    output.length === 0 ? items : output.map((item, index) => ({ id: index, item, text: '', isDone: true })),
  end,
  reason: end === 'completed' ? null : (error?.message ?? details?.reason ?? 'The server gave no reason.'),
  usage,
});

/** The fields of an error are in the event, or in its `error`. */
const failureIn = (event: StreamEvent): string => {
  const fields = (event['error'] ?? event) as { readonly message?: string };
  return fields.message ?? 'The server gave no reason.';
};

/** The items that the next request contains. An answer without an end has none: reasoning without its message is rejected. */
export const keptItems = ({ items, end }: LiveAnswer): readonly Item[] =>
  end === 'completed' || end === 'incomplete' ? items.map(({ item }) => item) : [];
