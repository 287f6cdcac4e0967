import type { Item } from './item.ts';

export type PairingProblem =
  | { readonly kind: 'call-without-output'; readonly index: number; readonly callId: string }
  | { readonly kind: 'output-without-call'; readonly index: number; readonly callId: string }
  | { readonly kind: 'duplicate-call'; readonly index: number; readonly callId: string }
  | { readonly kind: 'duplicate-output'; readonly index: number; readonly callId: string };

/**
 * The app-server drops an output without its call and invents an output for a call without one.
 * Both would change what the model sees, so they are found here and refused.
 */
export const findPairingProblem = (items: readonly Item[]): PairingProblem | null => {
  const calls = new Map<string, number>();
  const answered = new Set<string>();
  for (const [index, item] of items.entries()) {
    if (item.kind === 'tool-call') {
      if (calls.has(item.callId)) return { kind: 'duplicate-call', index, callId: item.callId };
      calls.set(item.callId, index);
    } else if (item.kind === 'tool-output') {
      if (!calls.has(item.callId)) return { kind: 'output-without-call', index, callId: item.callId };
      if (answered.has(item.callId)) return { kind: 'duplicate-output', index, callId: item.callId };
      answered.add(item.callId);
    }
  }
  for (const [callId, index] of calls) {
    if (!answered.has(callId)) return { kind: 'call-without-output', index, callId };
  }
  return null;
};
