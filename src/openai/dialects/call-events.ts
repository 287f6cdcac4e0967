import type { Produced, ToolCall } from '../../canonical/request/item.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';

/** A call that is whole, told as if it came now. */
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
