import {
  isMessage,
  isToolCall,
  wordsOf,
  type Message,
  type Produced,
  type ToolCall,
} from '../../canonical/request/item.ts';
import type { ItemDelta, ItemEnded, TurnEvent } from '../../canonical/events/turn-event.ts';
import type { IdSource } from '../../kit/ambient.ts';
import { yieldToLoop } from '../../kit/async/event-loop.ts';
import { callEvents } from './call-events.ts';
import { MAX_ARGUMENTS_CHARS, writeBlock, type NoBlock } from './use-tool-block.ts';

export interface TellBlocksOptions {
  readonly ids: IdSource;
  /** A call goes out without a block. */
  readonly onNativeOnly: (why: NoBlock) => void;
}

/** So much of calls is held back at once; beyond it they are told, and blocks that follow get another message. */
const MAX_HELD_CHARS = 4 * MAX_ARGUMENTS_CHARS;

/**
 * Tells calls both ways: as a block at the end of the message in front of them, and then natively.
 */
export async function* tellBlocks(
  events: AsyncIterable<TurnEvent>,
  options: TellBlocksOptions,
): AsyncGenerator<TurnEvent> {
  const telling = new BlockTelling(options);
  for await (const event of events) {
    for (const told of telling.next(event)) {
      yield told;
      // Calls that were held back are told at once, and there may be thousands.
      if (told.type === 'item-ended') await yieldToLoop();
    }
  }
}

/** A message that the model has ended, and that is kept open for blocks. */
interface KeptOpen {
  readonly ended: Produced<Message>;
  /** Only ever made longer: whoever looked at it each time would copy all of it each time. */
  added: string;
  /** What it says last. */
  last: string;
}

class BlockTelling {
  readonly #options: TellBlocksOptions;
  readonly #openMessages = new Set<string>();
  readonly #openCalls = new Map<string, { readonly head: Produced<ToolCall>; said: string }>();
  #kept: KeptOpen | null = null;
  /** Blocks for which there is no message yet: the model is still writing one. */
  #blocks: string[] = [];
  /** Calls that are whole, and are told when the message with their blocks has ended. */
  #calls: Produced<ToolCall>[] = [];
  #heldChars = 0;

  constructor(options: TellBlocksOptions) {
    this.#options = options;
  }

  *next(event: TurnEvent): Generator<TurnEvent> {
    switch (event.type) {
      case 'item-started':
        if (isToolCall(event.item)) {
          this.#openCalls.set(event.item.id, { head: event.item, said: '' });
          return;
        }
        yield* this.#tellCalls();
        if (isMessage(event.item)) this.#openMessages.add(event.item.id);
        yield event;
        return;
      case 'item-delta':
        if (this.#openCalls.has(event.itemId)) yield* this.#callDelta(event);
        else yield event;
        return;
      case 'item-ended':
        yield* this.#ended(event);
        return;
      case 'turn-ended':
        yield* this.#tellCalls();
        yield event;
        return;
      case 'turn-accepted':
      case 'item-status':
        yield event;
    }
  }

  *#callDelta(event: ItemDelta): Generator<TurnEvent> {
    const call = this.#openCalls.get(event.itemId);
    if (call === undefined) return;
    call.said += event.delta;
    this.#heldChars += event.delta.length;
    if (call.said.length <= MAX_ARGUMENTS_CHARS && this.#heldChars <= MAX_HELD_CHARS) return;
    // It is too long for a block: from here on it passes as it comes.
    yield* this.#tellCalls();
    this.#openCalls.delete(event.itemId);
    this.#heldChars -= call.said.length;
    this.#options.onNativeOnly('too_long');
    yield { type: 'item-started', item: call.head };
    yield { ...event, delta: call.said };
  }

  *#ended(event: ItemEnded): Generator<TurnEvent> {
    const { item } = event;
    if (isToolCall(item) && this.#openCalls.delete(item.id)) {
      this.#calls.push(item);
      yield* this.#writeCall(item);
      return;
    }
    this.#openMessages.delete(item.id);
    const takesBlocks = isMessage(item) && item.parts.every(({ kind }) => kind === 'text');
    if (!takesBlocks || this.#openMessages.size > 0) {
      yield event;
      return;
    }
    if (this.#kept !== null) yield* this.#tellCalls();
    this.#kept = { ended: item, added: '', last: wordsOf(item, 'text') };
    yield* this.#writeBlocks(this.#kept);
  }

  *#writeCall(call: Produced<ToolCall>): Generator<TurnEvent> {
    // What is cut off is no call for anybody.
    if (call.status === 'incomplete') return;
    const written = writeBlock(call);
    if ('none' in written) {
      this.#options.onNativeOnly(written.none);
      return;
    }
    this.#blocks.push(written.block);
    if (this.#openMessages.size > 0) return;
    yield* this.#writeBlocks(this.#kept ?? (yield* this.#begin()));
  }

  *#begin(): Generator<TurnEvent, KeptOpen> {
    const head = {
      kind: 'message',
      id: this.#options.ids.mint('msg'),
      role: 'assistant',
      parts: [],
    } as const;
    this.#kept = { ended: { ...head, status: 'completed' }, added: '', last: '' };
    yield { type: 'item-started', item: head };
    return this.#kept;
  }

  *#writeBlocks(kept: KeptOpen): Generator<TurnEvent> {
    for (const block of this.#blocks.splice(0)) {
      const delta = kept.last === '' || kept.last.endsWith('\n') ? block : `\n${block}`;
      kept.added += delta;
      kept.last = delta;
      yield { type: 'item-delta', itemId: kept.ended.id, at: 'text', delta };
    }
  }

  /** The message with the blocks ends, and the calls follow. */
  *#tellCalls(): Generator<TurnEvent> {
    if (this.#blocks.length > 0) yield* this.#writeBlocks(this.#kept ?? (yield* this.#begin()));
    const kept = this.#kept;
    this.#kept = null;
    if (kept !== null) yield { type: 'item-ended', item: withText(kept) };
    for (const call of this.#calls.splice(0)) {
      this.#heldChars -= call.input.length;
      yield* callEvents(call);
    }
  }
}

/** The blocks belong to the last text of a message. */
const withText = ({ ended, added }: KeptOpen): Produced<Message> => {
  const last = ended.parts.findLastIndex(({ kind }) => kind === 'text');
  const part = ended.parts[last];
  if (part?.kind !== 'text') return { ...ended, parts: [...ended.parts, { kind: 'text', text: added }] };
  return { ...ended, parts: ended.parts.with(last, { ...part, text: part.text + added }) };
};
