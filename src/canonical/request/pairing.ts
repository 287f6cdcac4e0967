import type { Item, ToolCall } from './item.ts';

export type PairingProblem =
  | { readonly kind: 'call-without-output'; readonly index: number; readonly callId: string }
  | { readonly kind: 'output-without-call'; readonly index: number; readonly callId: string }
  | { readonly kind: 'duplicate-call'; readonly index: number; readonly callId: string }
  | { readonly kind: 'duplicate-output'; readonly index: number; readonly callId: string };

/**
 * Finds a tool call without an output, or an output without a call. The app-server would drop the output or invent
 * one, which changes the model's input, so such requests are rejected. A call id may be reused after its output:
 * some backends number the calls of each answer.
 */
export const findPairingProblem = (items: readonly Item[]): PairingProblem | null => {
  const open = new Map<string, { readonly index: number; readonly tool: ToolCall['tool'] }>();
  const answered = new Set<string>();
  for (const [index, item] of items.entries()) {
    if (item.kind !== 'tool-call' && item.kind !== 'tool-output') continue;
    const { callId, tool } = item;
    if (callId === null) continue;
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
