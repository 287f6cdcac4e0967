import { assertNever } from '../../kit/assert-never.ts';
import type { Item, Part, ToolCall } from './item.ts';
import type { Tool } from './tool.ts';

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

/** What several places ask about a conversation as a whole. Most conversations have little of it. */
export interface ItemFacts {
  /** An id of an item or of a call. */
  readonly hasId: boolean;
  readonly hasCacheBreakpoint: boolean;
  /** Additional fields of calls or outputs. */
  readonly hasCallFields: boolean;
  readonly hasFile: boolean;
  /** How many images there are, including those stored at the backend. */
  readonly images: number;
  /** An image with a detail other than `auto`. */
  readonly hasImageDetail: boolean;
  readonly hasReasoning: boolean;
  readonly hasCall: boolean;
  /** Calls of custom tools, or their outputs. */
  readonly hasCustomCall: boolean;
  /** A call that names the namespace of its tool. */
  readonly hasNamespace: boolean;
  /** An item in Responses API form: a hosted call, loaded tools, or of an unknown type. */
  readonly hasRaw: boolean;
  readonly hasLoadedTools: boolean;
  /** Tools that items of the conversation declare. */
  readonly loadedTools: readonly Tool[];
}

/** Arrays of items are never changed, and a long one is asked about several times: so it is walked once. */
const known = new WeakMap<readonly Item[], ItemFacts>();

export const itemFacts = (items: readonly Item[]): ItemFacts => {
  const found = known.get(items);
  if (found !== undefined) return found;
  const facts = new Facts();
  for (const item of items) facts.add(item);
  known.set(items, facts);
  return facts;
};

class Facts implements ItemFacts {
  hasId = false;
  hasCacheBreakpoint = false;
  hasCallFields = false;
  hasFile = false;
  images = 0;
  hasImageDetail = false;
  hasReasoning = false;
  hasCall = false;
  hasCustomCall = false;
  hasNamespace = false;
  hasRaw = false;
  hasLoadedTools = false;
  readonly loadedTools: Tool[] = [];

  add(item: Item): void {
    this.hasId ||= item.id !== undefined || 'callId' in item || 'raw' in item;
    switch (item.kind) {
      case 'message':
        this.#parts(item.parts);
        return;
      case 'reasoning':
        this.hasReasoning = true;
        return;
      case 'tool-call':
        this.hasCall = true;
        this.hasNamespace ||= item.namespace !== undefined;
        this.hasCustomCall ||= item.tool === 'custom';
        this.hasCallFields ||= 'more' in item;
        return;
      case 'tool-output':
        this.hasCustomCall ||= item.tool === 'custom';
        this.hasCallFields ||= 'more' in item;
        if (typeof item.output !== 'string') this.#parts(item.output);
        return;
      case 'loaded-tools':
        this.hasRaw = true;
        this.hasLoadedTools = true;
        for (const tool of item.tools) this.loadedTools.push(tool);
        return;
      case 'hosted-call':
      case 'opaque':
        this.hasRaw = true;
        return;
      case 'compaction':
        return;
      default:
        assertNever(item);
    }
  }

  #parts(parts: readonly Part[]): void {
    for (const part of parts) {
      this.hasCacheBreakpoint ||= 'cacheBreakpoint' in part;
      if (part.kind === 'file') {
        this.hasFile = true;
        if (part.raw.type === 'input_image') this.images += 1;
      } else if (part.kind === 'image') {
        this.images += 1;
        this.hasImageDetail ||= (part.detail ?? 'auto') !== 'auto';
      }
    }
  }
}
