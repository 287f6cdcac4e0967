import { assertNever } from '../../kit/assert-never.ts';
import type { Json, JsonObject } from '../../kit/json/json.ts';
import type { Tool } from './tool.ts';

/**
 * An item of a conversation: input from a client or output of the model. Nothing is flattened: type, role, order,
 * ids and argument strings are kept. Only parsers, projectors and renderers switch on the kind; all other code uses
 * the helpers in this file.
 */
export type Item =
  | Message
  | Reasoning
  | ToolCall
  | ToolOutput
  | HostedCall
  | LoadedTools
  | Compaction
  | Opaque;

/** Items that only a client sends. */
export type ClientOnlyItem = ToolOutput | LoadedTools;

/** An output item, which always has an id. */
export type Produced<I extends Exclude<Item, ClientOnlyItem> = Exclude<Item, ClientOnlyItem>> = I & {
  readonly id: string;
};

/** Whether an output item is complete. Input items have no status. */
export type ItemStatus = 'completed' | 'incomplete';

export type Role = 'system' | 'developer' | 'user' | 'assistant';
export type Phase = 'commentary' | 'final_answer';

/** The field `internal_chat_message_metadata_passthrough`, which codex sends to OpenAI. The model does not see it. */
export type ItemNotes = JsonObject;

export interface Message {
  readonly kind: 'message';
  readonly id?: string;
  readonly role: Role;
  /** A complete output message has at least one part, possibly an empty text. */
  readonly parts: readonly Part[];
  readonly phase?: Phase;
  readonly status?: ItemStatus;
  readonly notes?: ItemNotes;
}

export type Part = TextPart | ImagePart | AudioPart | FilePart | RefusalPart;

/** Options that any part of a client's message may have. */
interface PartOptions {
  /** Marks the end of the prompt prefix to cache, in Responses API form. Only the backend reads it. */
  readonly cacheBreakpoint?: JsonObject;
}

export interface TextPart extends PartOptions {
  readonly kind: 'text';
  readonly text: string;
  /** Citations in an assistant's text. */
  readonly annotations?: readonly Json[];
  /** Log probabilities of the tokens, if requested. */
  readonly logprobs?: readonly Json[];
}

/** `url` is what the client sent, or the data URL it was resolved to (see turns/attachments). */
export interface ImagePart extends PartOptions, ImageRef {
  readonly kind: 'image';
}

export interface ImageRef {
  readonly url: string;
  readonly detail?: ImageDetail;
}
export type ImageDetail = 'auto' | 'low' | 'high' | 'original';

export interface AudioPart extends PartOptions {
  readonly kind: 'audio';
  readonly format: string;
  /** Base64. */
  readonly data: string;
}

/** A file, or an image stored as a file, in Responses API form. Passed through if the backend accepts files. */
export interface FilePart extends PartOptions {
  readonly kind: 'file';
  readonly raw: RawPart;
  /** Text for a backend that takes no such file; absent: the request is rejected there. */
  readonly otherwise?: string;
}
export type RawPart = JsonObject & { readonly type: 'input_file' | 'input_image' };

/** A refusal by the assistant. */
export interface RefusalPart {
  readonly kind: 'refusal';
  readonly text: string;
}

export interface Reasoning {
  readonly kind: 'reasoning';
  readonly id?: string;
  readonly summary: readonly string[];
  /** Raw reasoning text, which only some providers send. */
  readonly content?: readonly string[];
  readonly encryptedContent?: string;
  /** Names the backend and account that encrypted it, which no other can read, without revealing them. Absent: unknown. */
  readonly origin?: string;
  readonly status?: ItemStatus;
  readonly notes?: ItemNotes;
}

/** The name by which a tool is called. */
export interface CalledName {
  readonly name: string;
  readonly namespace?: string;
}

/** What the model wrote in a call. */
export interface CallContent extends CalledName {
  readonly tool: 'function' | 'custom';
  /** Exactly as the model wrote it: JSON for a function, any text for a custom tool. */
  readonly input: string;
}

/** A call of a client's tool. */
export interface ToolCall extends CallContent {
  readonly kind: 'tool-call';
  readonly id?: string;
  readonly callId: string;
  /** Other API fields, such as the caller and whether the output may come later. */
  readonly more?: JsonObject;
  readonly status?: ItemStatus;
  readonly notes?: ItemNotes;
}

export interface ToolOutput {
  readonly kind: 'tool-output';
  readonly id?: string;
  readonly tool: 'function' | 'custom';
  /** Null: no call of the model asked for this output, so `name` says which tool it is from. */
  readonly callId: string | null;
  /** Only of an output without a call. */
  readonly name?: string;
  readonly namespace?: string;
  readonly output: string | readonly Part[];
  /** Other fields from the client, such as the caller and its name. */
  readonly more?: JsonObject;
  readonly notes?: ItemNotes;
}

/** A call that the backend or the app-server runs: a web search, an image, an MCP tool. */
export interface HostedCall {
  readonly kind: 'hosted-call';
  readonly id?: string;
  readonly raw: RawItem;
  /** The model's call id, if the app-server runs the call. */
  readonly modelCallId?: string;
  readonly status?: ItemStatus;
}

/** Tools declared inside the conversation. The model may call them from here on. */
export interface LoadedTools {
  readonly kind: 'loaded-tools';
  readonly id?: string;
  readonly raw: RawItem;
  readonly tools: readonly Tool[];
  /** The client did not send such an item itself: backends that may not know it get its tools in the tool list. */
  readonly isOurs?: true;
}

/** Replaces the conversation before it with a shorter form. */
export type Compaction = EncryptedCompaction | Summary;

/** A compaction that only its backend can decrypt. */
export interface EncryptedCompaction {
  readonly kind: 'compaction';
  readonly id?: string;
  readonly encryptedContent: string;
  readonly notes?: ItemNotes;
}

/** A compaction as plain text, for backends without their own: any model can read it. */
export interface Summary {
  readonly kind: 'compaction';
  readonly id?: string;
  readonly summary: string;
}

/** An item of an unknown type, passed through unchanged. */
export interface Opaque {
  readonly kind: 'opaque';
  readonly id?: string;
  readonly raw: RawItem;
}

/** An item in Responses API form. */
export type RawItem = JsonObject & { readonly type: string };

/** The raw item with the id of the item; without an id if the item has none. */
export const rawOf = ({ id, raw }: HostedCall | LoadedTools | Opaque): RawItem => {
  if (id !== undefined) return { ...raw, id };
  const { id: _, ...rest } = raw;
  return { ...rest, type: raw.type };
};

/** The part of an item that a delta belongs to. */
export type Slot =
  | 'text'
  | 'refusal'
  /** Arguments or input of a tool call. */
  | 'input'
  /** Output of a hosted tool while it runs. */
  | 'output'
  | { readonly list: 'summary' | 'reasoning'; readonly index: number };

/** What a message consists of. */
interface MessageContent {
  readonly text: string;
  /** Null if the model did not refuse. */
  readonly refusal: string | null;
  readonly annotations: readonly Json[];
  readonly logprobs: readonly Json[];
}

/** The content of an item, collected from its deltas. */
export interface ItemContent extends MessageContent {
  readonly input: string;
  readonly output: string;
  readonly summary: readonly string[];
  readonly reasoning: readonly string[];
}

/** The ended item with the content received so far. */
export const endItem = (head: Produced, content: ItemContent, status: ItemStatus): Produced => {
  switch (head.kind) {
    case 'message':
      return { ...head, parts: messageParts(content), status };
    case 'reasoning':
      return {
        ...head,
        summary: content.summary,
        ...(content.reasoning.length === 0 ? {} : { content: content.reasoning }),
        status,
      };
    case 'tool-call':
      return { ...head, input: content.input, status };
    case 'hosted-call':
      return { ...head, status };
    case 'compaction':
    case 'opaque':
      return head;
    default:
      return assertNever(head);
  }
};

/** The parts of an output message: a text, possibly empty, unless the message is only a refusal. */
export const messageParts = ({ text, refusal, annotations, logprobs }: MessageContent): readonly Part[] => [
  ...(text !== '' || refusal === null
    ? [
        {
          kind: 'text',
          text,
          ...(annotations.length === 0 ? {} : { annotations }),
          ...(logprobs.length === 0 ? {} : { logprobs }),
        } as const,
      ]
    : []),
  ...(refusal === null ? [] : [{ kind: 'refusal', text: refusal } as const]),
];

/** The joined text of a message's parts of one kind. */
export const wordsOf = ({ parts }: Message, kind: 'text' | 'refusal'): string =>
  parts.flatMap((part) => (part.kind === kind ? [part.text] : [])).join('');

/** The item's share of the answer text; empty for commentary. */
export const answerText = (item: Item): string =>
  item.kind === 'message' && item.phase !== 'commentary' ? wordsOf(item, 'text') : '';

/** Whether a message is empty, such as the one that the message-first layout puts before calls. */
export const hasNoContent = (parts: readonly Part[]): boolean =>
  parts.every((part) => (part.kind === 'text' || part.kind === 'refusal') && part.text === '');

export const isMessage = <I extends Item>(item: I): item is Extract<I, Message> => item.kind === 'message';
export const isReasoning = <I extends Item>(item: I): item is Extract<I, Reasoning> =>
  item.kind === 'reasoning';
export const isToolCall = <I extends Item>(item: I): item is Extract<I, ToolCall> =>
  item.kind === 'tool-call';

/** A plain-text summary, which the model gets as an input message. */
export const isSummary = <I extends Item>(item: I): item is Extract<I, Summary> =>
  item.kind === 'compaction' && 'summary' in item;

/** Whether an item is certainly model output other than reasoning. */
export const isModelOutput = (item: Item): boolean =>
  item.kind === 'message'
    ? item.role === 'assistant'
    : !isReasoning(item) &&
      !isSummary(item) &&
      item.kind !== 'tool-output' &&
      item.kind !== 'loaded-tools' &&
      item.kind !== 'opaque';

/** The content parts of an item, and the name of their field in the API. */
export const partsOf = (
  item: Item,
): { readonly field: 'content' | 'output'; readonly parts: readonly Part[] } => {
  if (item.kind === 'message') return { field: 'content', parts: item.parts };
  if (item.kind !== 'tool-output') return { field: 'content', parts: [] };
  return { field: 'output', parts: typeof item.output === 'string' ? [] : item.output };
};

/** The item with other parts, if its kind has parts. */
export const withParts = (item: Item, parts: readonly Part[]): Item => {
  if (item.kind === 'message') return { ...item, parts };
  return item.kind === 'tool-output' ? { ...item, output: parts } : item;
};
