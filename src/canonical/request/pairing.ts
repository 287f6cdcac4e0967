import type { Item, ToolCall } from './item.ts';

export type PairingProblem =
  | { readonly kind: 'call-without-output'; readonly index: number; readonly callId: string }
  | { readonly kind: 'output-without-call'; readonly index: number; readonly callId: string }
  | { readonly kind: 'duplicate-call'; readonly index: number; readonly callId: string }
  | { readonly kind: 'duplicate-output'; readonly index: number; readonly callId: string };

/**
 * The app-server drops an output without its call and invents an output for a call without one.
 * Both would change what the model sees, so they are found here and refused. An id may be used again
 * once its call has an output: there are backends that number the calls of each answer.
 */
export const findPairingProblem = (items: readonly Item[]): PairingProblem | null => {
  const open = new Map<string, { readonly index: number; readonly tool: ToolCall['tool'] }>();
  const answered = new Set<string>();
  for (const [index, item] of items.entries()) {
    if (item.kind !== 'tool-call' && item.kind !== 'tool-output') continue;
    const { callId, tool } = item;
    const call = open.get(callId);
    if (item.kind === 'tool-call') {
      if (call !== undefined) return { kind: 'duplicate-call', index, callId };
      open.set(callId, { index, tool });
    } else if (call?.tool === tool) {
      open.delete(callId);
      answered.add(callId);
    } else {
      const isSecond = call === undefined && answered.has(callId);
      return { kind: isSecond ? 'duplicate-output' : 'output-without-call', index, callId };
    }
  }
  for (const [callId, { index }] of open) return { kind: 'call-without-output', index, callId };
  return null;
};
