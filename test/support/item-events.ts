import type { Message, Produced, ToolCall } from '../../src/canonical/request/item.ts';
import type { TurnEvent } from '../../src/canonical/events/turn-event.ts';

/** Events of messages and calls, and the start and end of a turn. */

export const saidMessage = (
  id: string,
  text: string,
  different: Partial<Produced<Message>> = {},
): Produced<Message> => ({
  kind: 'message',
  id,
  role: 'assistant',
  parts: [{ kind: 'text', text }],
  status: 'completed',
  ...different,
});

export const messageStarted = (id: string, different: Partial<Message> = {}): TurnEvent => ({
  type: 'item-started',
  item: { kind: 'message', id, role: 'assistant', parts: [], ...different },
});

export const textDelta = (itemId: string, delta: string): TurnEvent => ({
  type: 'item-delta',
  itemId,
  at: 'text',
  delta,
});

export const messageEnded = (
  id: string,
  text: string,
  different: Partial<Produced<Message>> = {},
): TurnEvent => ({ type: 'item-ended', item: saidMessage(id, text, different) });

export const messageTold = (id: string, ...deltas: readonly string[]): TurnEvent[] => [
  messageStarted(id),
  ...deltas.map((delta) => textDelta(id, delta)),
  messageEnded(id, deltas.join('')),
];

const call = (id: string, different: Partial<ToolCall>): Produced<ToolCall> => ({
  kind: 'tool-call',
  id,
  tool: 'function',
  callId: `call_${id}`,
  name: 'f',
  input: '',
  ...different,
});

export const callStarted = (id: string, different: Partial<ToolCall> = {}): TurnEvent => ({
  type: 'item-started',
  item: call(id, different),
});

export const callDelta = (itemId: string, delta: string): TurnEvent => ({
  type: 'item-delta',
  itemId,
  at: 'input',
  delta,
});

export const callEnded = (
  id: string,
  input: string,
  different: Partial<Produced<ToolCall>> = {},
): TurnEvent => ({ type: 'item-ended', item: { ...call(id, { input }), status: 'completed', ...different } });

export const callTold = (id: string, ...deltas: readonly string[]): TurnEvent[] => [
  callStarted(id),
  ...deltas.map((delta) => callDelta(id, delta)),
  callEnded(id, deltas.join('')),
];

/** Everything had an effect. */
export const ACCEPTED = {
  type: 'turn-accepted',
  ignored: [],
  limitsOutput: false,
  headers: {},
} as const satisfies TurnEvent;

export const END = {
  type: 'turn-ended',
  outcome: { kind: 'completed' },
  usage: null,
  at: 1_800_000_000_000,
} as const satisfies TurnEvent;
