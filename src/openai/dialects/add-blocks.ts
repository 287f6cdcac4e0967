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
import {
  MAX_ARGUMENTS_CHARS,
  writeBlock,
  type NoBlockReason,
  BlockScan,
  readBlock,
} from './use-tool-block.ts';

interface AddBlocksOptions {
  readonly ids: IdSource;
  /** Called for a call that is sent without a block. */
  readonly onNativeOnly: (why: NoBlockReason) => void;
}

/** Limit on held calls. Beyond it they are sent, and later blocks start a new message. */
const MAX_HELD_CHARS = 4 * MAX_ARGUMENTS_CHARS;

/** Sends calls in both forms: as a block at the end of the message before them, then natively. */
export async function* addBlocks(
  events: AsyncIterable<TurnEvent>,
  options: AddBlocksOptions,
): AsyncGenerator<TurnEvent> {
  const writer = new BlockWriter(options);
  for await (const event of events) {
    for (const emitted of writer.next(event)) {
      yield emitted;
      // Thousands of held calls may be sent at once.
      if (emitted.type === 'item-ended') await yieldToLoop();
    }
  }
}

/** A message that the model has ended but that stays open for blocks. */
interface HeldMessage {
  readonly ended: Produced<Message>;
  /** Only appended to: reading it after each block would flatten the string each time. */
  added: string;
  /** The last piece of its text. */
  last: string;
}

class BlockWriter {
  readonly #options: AddBlocksOptions;
  readonly #openMessages = new Set<string>();
  readonly #openCalls = new Map<string, { readonly head: Produced<ToolCall>; received: string }>();
  #held: HeldMessage | null = null;
  /** Blocks that wait for the message that the model is still writing. */
  #blocks: string[] = [];
  /** Complete calls, sent after the message with their blocks has ended. */
  #calls: Produced<ToolCall>[] = [];
  #heldChars = 0;

  constructor(options: AddBlocksOptions) {
    this.#options = options;
  }

  *next(event: TurnEvent): Generator<TurnEvent> {
    switch (event.type) {
      case 'item-started':
        if (isToolCall(event.item)) {
          this.#openCalls.set(event.item.id, { head: event.item, received: '' });
          return;
        }
        yield* this.#emitCalls();
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
        yield* this.#emitCalls();
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
    call.received += event.delta;
    this.#heldChars += event.delta.length;
    if (call.received.length <= MAX_ARGUMENTS_CHARS && this.#heldChars <= MAX_HELD_CHARS) return;
    // Too long for a block: from here on the call is passed through.
    yield* this.#emitCalls();
    this.#openCalls.delete(event.itemId);
    this.#heldChars -= call.received.length;
    this.#options.onNativeOnly('too_long');
    yield { type: 'item-started', item: call.head };
    yield { ...event, delta: call.received };
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
    if (this.#held !== null) yield* this.#emitCalls();
    this.#held = { ended: item, added: '', last: wordsOf(item, 'text') };
    yield* this.#writeBlocks(this.#held);
  }

  *#writeCall(call: Produced<ToolCall>): Generator<TurnEvent> {
    // A truncated call gets no block.
    if (call.status === 'incomplete') return;
    const written = writeBlock(call);
    if ('reason' in written) {
      this.#options.onNativeOnly(written.reason);
      return;
    }
    this.#blocks.push(written.block);
    if (this.#openMessages.size > 0) return;
    yield* this.#writeBlocks(this.#held ?? (yield* this.#begin()));
  }

  *#begin(): Generator<TurnEvent, HeldMessage> {
    const head = {
      kind: 'message',
      id: this.#options.ids.mint('msg'),
      role: 'assistant',
      parts: [],
    } as const;
    this.#held = { ended: { ...head, status: 'completed' }, added: '', last: '' };
    yield { type: 'item-started', item: head };
    return this.#held;
  }

  *#writeBlocks(held: HeldMessage): Generator<TurnEvent> {
    for (const block of this.#blocks.splice(0)) {
      const delta = held.last === '' || held.last.endsWith('\n') ? block : `\n${block}`;
      held.added += delta;
      held.last = delta;
      yield { type: 'item-delta', itemId: held.ended.id, at: 'text', delta };
    }
  }

  /** Ends the message with the blocks, then emits the calls. */
  *#emitCalls(): Generator<TurnEvent> {
    if (this.#blocks.length > 0) yield* this.#writeBlocks(this.#held ?? (yield* this.#begin()));
    const held = this.#held;
    this.#held = null;
    if (held !== null) yield { type: 'item-ended', item: withText(held) };
    for (const call of this.#calls.splice(0)) {
      this.#heldChars -= call.input.length;
      yield* callEvents(call);
    }
  }
}

/** Appends the blocks to the last text of the message. */
const withText = ({ ended, added }: HeldMessage): Produced<Message> => {
  const last = ended.parts.findLastIndex(({ kind }) => kind === 'text');
  const part = ended.parts[last];
  if (part?.kind !== 'text') return { ...ended, parts: [...ended.parts, { kind: 'text', text: added }] };
  return { ...ended, parts: ended.parts.with(last, { ...part, text: part.text + added }) };
};

/** Adds native calls for the blocks of each message, even an unclosed one at its end. The text is unchanged. */
export async function* callsFromBlocks(
  events: AsyncIterable<TurnEvent>,
  ids: IdSource,
): AsyncGenerator<TurnEvent> {
  const open = new Map<string, OpenMessage>();
  let hasCalls = false;
  for await (const event of events) {
    if (event.type === 'item-started' && isMessage(event.item)) open.set(event.item.id, new OpenMessage());
    if (event.type === 'item-delta' && event.at === 'text') open.get(event.itemId)?.read(event.delta);
    if (event.type === 'turn-ended' && event.outcome.kind === 'completed' && hasCalls) {
      yield { ...event, outcome: { kind: 'tool-calls' } };
      return;
    }
    yield event;
    const message = event.type === 'item-ended' ? open.get(event.item.id) : undefined;
    if (message === undefined || event.type !== 'item-ended') continue;
    open.delete(event.item.id);
    for (const inner of message.end()) {
      // A message may have thousands of blocks.
      await yieldToLoop();
      const call = readBlock(inner);
      if (call === null) continue;
      hasCalls = true;
      yield* callEvents({
        kind: 'tool-call',
        id: ids.mint('fc'),
        tool: 'function',
        callId: ids.mint('call'),
        ...call,
        status: 'completed',
      });
    }
  }
}

/** The blocks of one open message. */
class OpenMessage {
  readonly #scan = new BlockScan();
  readonly #blocks: string[] = [];

  read(delta: string): void {
    for (const mark of this.#scan.read(delta)) {
      if (mark.kind === 'closed' && mark.inner !== null) this.#blocks.push(mark.inner);
    }
  }

  end(): readonly string[] {
    const unclosed = this.#scan.end();
    return unclosed === null ? this.#blocks : [...this.#blocks, unclosed];
  }
}

/** The events of a complete call. */
const callEvents = (call: Produced<ToolCall>): readonly TurnEvent[] => {
  const { status: _, ...facts } = call;
  return [
    { type: 'item-started', item: { ...facts, input: '' } },
    ...(call.input === ''
      ? []
      : [{ type: 'item-delta', itemId: call.id, at: 'input', delta: call.input } as const]),
    { type: 'item-ended', item: call },
  ];
};
