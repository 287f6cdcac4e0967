import { isMessage, isReasoning } from '../../canonical/item.ts';
import { itemIdOf, type TurnEvent } from '../../canonical/turn-event.ts';
import type { IdSource } from '../../kit/ambient.ts';

/** `natural`: the model's own items in its own order. `message-first`: `output[0]` is a message. */
export type Layout = 'message-first' | 'natural';

export interface LayoutWishes {
  /** What the client asked for; null where it did not say. */
  readonly asked: Layout | null;
  /** The client asked for reasoning: its summary, or its encrypted content. */
  readonly wantsReasoning: boolean;
  /** The request has tools that the client does not run: what they did stands between the model's words. */
  readonly hasHostedTools: boolean;
  /** The answer may hold a compaction, which stands for what is in front of it. */
  readonly mayCompact: boolean;
  /** Clients of codex expect what its own backend sends. */
  readonly isCodex: boolean;
  /** What the deployment gives to everybody else. */
  readonly standard: Layout;
}

/**
 * An answer that shows reasoning is natural, because it comes back as input: a backend refuses
 * reasoning that does not stand in front of what it led to. So is one with a search or the like in it,
 * which would otherwise begin with an empty message in front of its message.
 */
export const chooseLayout = ({
  asked,
  wantsReasoning,
  hasHostedTools,
  mayCompact,
  isCodex,
  standard,
}: LayoutWishes): Layout =>
  asked ?? (wantsReasoning || hasHostedTools || mayCompact || isCodex ? 'natural' : standard);

/**
 * Which items an answer shows, and in which order. A layout is an event→event transform in front of
 * `render` and `fold`, so that a stream and its JSON form agree by construction: `output_index` is
 * the order in which items start.
 */
export const arrange = (
  events: AsyncIterable<TurnEvent>,
  layout: Layout,
  ids: IdSource,
): AsyncIterable<TurnEvent> => (layout === 'natural' ? events : messageFirst(events, ids));

/**
 * The model's order without its reasoning, behind an empty message if it does not begin with a
 * message. Sent back as input, that message is left out and the model sees its own order.
 */
async function* messageFirst(events: AsyncIterable<TurnEvent>, ids: IdSource): AsyncGenerator<TurnEvent> {
  const hidden = new Set<string>();
  let hasBegun = false;
  for await (const event of events) {
    if (event.type === 'item-started') {
      if (isReasoning(event.item)) hidden.add(event.item.id);
      else {
        if (!hasBegun && !isMessage(event.item)) yield* emptyMessage(ids.mint('msg'));
        hasBegun = true;
      }
    }
    // A turn that failed before it said anything has no message, not even an empty one.
    const isBare = event.type === 'turn-ended' && !hasBegun && event.outcome.kind !== 'failed';
    if (isBare) yield* emptyMessage(ids.mint('msg'));
    if (!hidden.has(itemIdOf(event) ?? '')) yield event;
  }
}

const emptyMessage = (id: string): readonly TurnEvent[] => {
  const head = { kind: 'message', id, role: 'assistant', parts: [] } as const;
  return [
    { type: 'item-started', item: head },
    { type: 'item-ended', item: { ...head, parts: [{ kind: 'text', text: '' }], status: 'completed' } },
  ];
};
