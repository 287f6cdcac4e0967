import type { TurnEvent } from '../../../canonical/events/turn-event.ts';
import { messageFirst, type MessageFirstOptions } from './message-first.ts';

/** `natural`: the model's own items in its own order. `message-first`: see `messageFirst`. */
export type Layout = 'message-first' | 'natural';

export interface LayoutOptions {
  /** The requested layout, or null. */
  readonly requested: Layout | null;
  /** The answer may have a compaction, whose position matters because it replaces everything before it. */
  readonly mayCompact: boolean;
  /** Codex clients expect what codex's own backend sends. */
  readonly isCodex: boolean;
  /** The configured layout. */
  readonly configured: Layout;
}

export const chooseLayout = ({ requested, mayCompact, isCodex, configured }: LayoutOptions): Layout =>
  requested ?? (mayCompact || isCodex ? 'natural' : configured);

/**
 * Chooses which items an answer has, and their order. A layout transforms events before `render` and `fold`, so that a
 * stream and its JSON form agree: `output_index` is the order in which items start.
 */
export const arrange = (
  events: AsyncIterable<TurnEvent>,
  layout: Layout,
  options: MessageFirstOptions,
): AsyncIterable<TurnEvent> => (layout === 'natural' ? events : messageFirst(events, options));
