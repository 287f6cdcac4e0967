import { isMessage, type Produced, type ToolCall } from '../../canonical/request/item.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import type { IdSource } from '../../kit/ambient.ts';
import { yieldToLoop } from '../../kit/async/event-loop.ts';
import { BlockScan, readBlock } from './use-tool-block.ts';

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
export const callEvents = (call: Produced<ToolCall>): readonly TurnEvent[] => {
  const { status: _, ...facts } = call;
  return [
    { type: 'item-started', item: { ...facts, input: '' } },
    ...(call.input === ''
      ? []
      : [{ type: 'item-delta', itemId: call.id, at: 'input', delta: call.input } as const]),
    { type: 'item-ended', item: call },
  ];
};
