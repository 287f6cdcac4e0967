import type { Produced, ToolCall } from '../../canonical/request/item.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';

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
