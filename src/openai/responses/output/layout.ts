import type { TurnEvent } from '../../../canonical/events/turn-event.ts';
import { messageFirst, type MessageFirstOptions } from './message-first.ts';

/** `natural`: the model's own items in its own order. `message-first`: see `messageFirst`. */
export type Layout = 'message-first' | 'natural';

export interface LayoutWishes {
  /** What the request asks for; null where it does not say. */
  readonly asked: Layout | null;
  /** The answer may hold a compaction, which replaces what is in front of it: its place matters. */
  readonly mayCompact: boolean;
  /** Clients of codex expect what its own backend sends. */
  readonly isCodex: boolean;
  /** The deployment's setting. */
  readonly standard: Layout;
}

export const chooseLayout = ({ asked, mayCompact, isCodex, standard }: LayoutWishes): Layout =>
  asked ?? (mayCompact || isCodex ? 'natural' : standard);

/**
 * Which items an answer shows, and in which order. A layout is an event→event transform in front of
 * `render` and `fold`, so that a stream and its JSON form agree by construction: `output_index` is
 * the order in which items start.
 */
export const arrange = (
  events: AsyncIterable<TurnEvent>,
  layout: Layout,
  options: MessageFirstOptions,
): AsyncIterable<TurnEvent> => (layout === 'natural' ? events : messageFirst(events, options));
