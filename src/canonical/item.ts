import { assertNever } from '../kit/assert-never.ts';
import type { Json, JsonObject } from '../kit/json.ts';

/**
 * A unit of conversation as a caller sent it. Both APIs are parsed into this; nothing is flattened:
 * type, role, order, ids and argument strings stay as they were.
 */
export type Item =
  | MessageItem
  | ReasoningItem
  | FunctionCallItem
  | FunctionOutputItem
  | CustomCallItem
  | CustomOutputItem
  | CompactionItem
  | CarriedItem;

export type Role = 'system' | 'developer' | 'user' | 'assistant';
export type Phase = 'commentary' | 'final_answer';

export interface MessageItem {
  readonly kind: 'message';
  readonly id?: string;
  readonly role: Role;
  readonly parts: readonly Part[];
  readonly phase?: Phase;
}

export type Part = TextPart | ImagePart | AudioPart | RefusalPart;

export interface TextPart {
  readonly kind: 'text';
  readonly text: string;
  /** Citations of an assistant's text that a client sends back. */
  readonly annotations?: readonly Json[];
}

/** `url` is what the client sent, or the data URL it was resolved to (see http/attachments). */
export interface ImagePart {
  readonly kind: 'image';
  readonly url: string;
  readonly detail?: ImageDetail;
}
export type ImageDetail = 'auto' | 'low' | 'high' | 'original';

export interface AudioPart {
  readonly kind: 'audio';
  readonly format: string;
  /** Base64. */
  readonly data: string;
}

/** What the assistant refused with, in a history. */
export interface RefusalPart {
  readonly kind: 'refusal';
  readonly text: string;
}

export interface ReasoningItem {
  readonly kind: 'reasoning';
  readonly id?: string;
  readonly summary: readonly string[];
  readonly content?: readonly string[];
  readonly encryptedContent?: string;
}

export interface FunctionCallItem {
  readonly kind: 'function-call';
  readonly id?: string;
  readonly callId: string;
  readonly name: string;
  readonly namespace?: string;
  /** Byte for byte as the model wrote it. */
  readonly arguments: string;
}

export interface FunctionOutputItem {
  readonly kind: 'function-output';
  readonly id?: string;
  readonly callId: string;
  readonly output: string | readonly Part[];
}

export interface CustomCallItem {
  readonly kind: 'custom-call';
  readonly id?: string;
  readonly callId: string;
  readonly name: string;
  readonly input: string;
}

export interface CustomOutputItem {
  readonly kind: 'custom-output';
  readonly id?: string;
  readonly callId: string;
  readonly output: string | readonly Part[];
}

export interface CompactionItem {
  readonly kind: 'compaction';
  readonly id?: string;
  readonly encryptedContent: string;
}

/** An item of a type that the app-server knows and that nobody between it and the client reads. */
export interface CarriedItem {
  readonly kind: 'carried';
  readonly wire: JsonObject & { readonly type: string };
}

/** Whether there is nothing in a message, such as the one that our own layout puts in front of calls. */
export const saysNothing = (parts: readonly Part[]): boolean =>
  parts.every((part) => (part.kind === 'text' || part.kind === 'refusal') && part.text === '');

/** The content parts of an item and the wire's name of the field that holds them. */
export const partsOf = (
  item: Item,
): { readonly field: 'content' | 'output'; readonly parts: readonly Part[] } => {
  switch (item.kind) {
    case 'message':
      return { field: 'content', parts: item.parts };
    case 'function-output':
    case 'custom-output':
      return { field: 'output', parts: typeof item.output === 'string' ? [] : item.output };
    case 'reasoning':
    case 'function-call':
    case 'custom-call':
    case 'compaction':
    case 'carried':
      return { field: 'content', parts: [] };
    default:
      return assertNever(item);
  }
};
