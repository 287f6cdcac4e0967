import { assertNever } from '../../kit/assert-never.ts';
import type { Json, JsonObject } from '../../kit/json/json.ts';
import type { Tool } from './tool.ts';

/**
 * A unit of conversation, in both directions: what a caller sent, and what the model produced. Nothing
 * is flattened: type, role, order, ids and argument strings stay as they were. Only readers, projectors
 * and renderers ask what kind an item is; what a new kind means to everybody else is said in this file.
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

/** What only a client can say. */
export type FromClient = ToolOutput | LoadedTools;

/** An item of an answer: it always has an id. */
export type Produced<I extends Exclude<Item, FromClient> = Exclude<Item, FromClient>> = I & {
  readonly id: string;
};

/** Whether an item that the model produced is whole. Items of callers do not say. */
export type ItemStatus = 'completed' | 'incomplete';

export type Role = 'system' | 'developer' | 'user' | 'assistant';
export type Phase = 'commentary' | 'final_answer';

/**
 * What codex notes about an item for OpenAI, in the field `internal_chat_message_metadata_passthrough`. It says nothing to
 * the model.
 */
export type ItemNotes = JsonObject;

export interface Message {
  readonly kind: 'message';
  readonly id?: string;
  readonly role: Role;
  /** A message that the model has ended has a part, if only an empty text. */
  readonly parts: readonly Part[];
  readonly phase?: Phase;
  readonly status?: ItemStatus;
  readonly notes?: ItemNotes;
}

export type Part = TextPart | ImagePart | AudioPart | FilePart | RefusalPart;

/** What every part of a client's message may say besides its content. */
interface PartOptions {
  /** Up to here the prompt is to be cached, in the words of the Responses API. Only a backend reads it. */
  readonly cacheBreakpoint?: JsonObject;
}

export interface TextPart extends PartOptions {
  readonly kind: 'text';
  readonly text: string;
  /** Citations in an assistant's text. */
  readonly annotations?: readonly Json[];
  /** Of the text's tokens, when they were asked for. */
  readonly logprobs?: readonly Json[];
}

/** `url` is what the client sent, or the data URL it was resolved to (see http/attachments). */
export interface ImagePart extends PartOptions {
  readonly kind: 'image';
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

/**
 * A file, or an image that is stored as a file, as the Responses API writes it. Where the backend takes files
 * nobody reads what is in it (see `text-file.ts`).
 */
export interface FilePart extends PartOptions {
  readonly kind: 'file';
  readonly raw: RawPart;
}
export type RawPart = JsonObject & { readonly type: 'input_file' | 'input_image' };

/** What the assistant refused with. */
export interface RefusalPart {
  readonly kind: 'refusal';
  readonly text: string;
}

export interface Reasoning {
  readonly kind: 'reasoning';
  readonly id?: string;
  readonly summary: readonly string[];
  /** Raw reasoning, which only some providers show. */
  readonly content?: readonly string[];
  readonly encryptedContent?: string;
  readonly status?: ItemStatus;
  readonly notes?: ItemNotes;
}

/** A call of a tool that the client runs. */
export interface ToolCall {
  readonly kind: 'tool-call';
  readonly id?: string;
  readonly tool: 'function' | 'custom';
  readonly callId: string;
  readonly name: string;
  readonly namespace?: string;
  /** Byte for byte as the model wrote it: JSON for a function, any text for a custom tool. */
  readonly input: string;
  /** Further fields, as the API has them: who called it, and whether its output may come later. */
  readonly more?: JsonObject;
  readonly status?: ItemStatus;
  readonly notes?: ItemNotes;
}

export interface ToolOutput {
  readonly kind: 'tool-output';
  readonly id?: string;
  readonly tool: 'function' | 'custom';
  readonly callId: string;
  readonly output: string | readonly Part[];
  /** Further fields, as the client sent them: who called it, and its name. */
  readonly more?: JsonObject;
  readonly notes?: ItemNotes;
}

/** A call that the backend runs itself, or the app-server does: a web search, an image, a tool of an MCP server. */
export interface HostedCall {
  readonly kind: 'hosted-call';
  readonly id?: string;
  readonly raw: RawItem;
  /** What the model calls it, where the app-server runs it. */
  readonly modelCallId?: string;
  readonly status?: ItemStatus;
}

/** Tools that a conversation brings along: from here on the model may call them. */
export interface LoadedTools {
  readonly kind: 'loaded-tools';
  readonly id?: string;
  readonly raw: RawItem;
  readonly tools: readonly Tool[];
}

/** What stands for a conversation up to its place, and is shorter. */
export type Compaction = SealedCompaction | Summary;

/** As its backend made it, which alone can read it. */
export interface SealedCompaction {
  readonly kind: 'compaction';
  readonly id?: string;
  readonly encryptedContent: string;
  readonly notes?: ItemNotes;
}

/** In words, where the backend has no compaction of its own: any model can read it. */
export interface Summary {
  readonly kind: 'compaction';
  readonly id?: string;
  readonly summary: string;
}

/** An item of a type that nobody between the backend and the client knows. */
export interface Opaque {
  readonly kind: 'opaque';
  readonly id?: string;
  readonly raw: RawItem;
}

/** An item as the Responses API writes it. */
export type RawItem = JsonObject & { readonly type: string };

/** A raw item as it is written: its id is the item's own, or none. */
export const rawOf = ({ id, raw }: HostedCall | LoadedTools | Opaque): RawItem => {
  if (id !== undefined) return { ...raw, id };
  const { id: _, ...rest } = raw;
  return { ...rest, type: raw.type };
};

/** Where in an item a delta belongs. */
export type Slot =
  | 'text'
  | 'refusal'
  /** What a tool is called with. */
  | 'input'
  /** What a hosted tool says while it runs. */
  | 'output'
  | { readonly list: 'summary' | 'reasoning'; readonly index: number };

/** What was said of an item while it was open, slot by slot. */
export interface Said {
  readonly text: string;
  /** Null: the model did not refuse. */
  readonly refusal: string | null;
  readonly input: string;
  readonly output: string;
  readonly summary: readonly string[];
  readonly reasoning: readonly string[];
  readonly annotations: readonly Json[];
  readonly logprobs: readonly Json[];
}

/** An item of which this much was said, and no more will be. */
export const endedWith = (head: Produced, said: Said, status: ItemStatus): Produced => {
  switch (head.kind) {
    case 'message':
      return { ...head, parts: saidParts(said), status };
    case 'reasoning':
      return {
        ...head,
        summary: said.summary,
        ...(said.reasoning.length === 0 ? {} : { content: said.reasoning }),
        status,
      };
    case 'tool-call':
      return { ...head, input: said.input, status };
    case 'hosted-call':
      return { ...head, status };
    case 'compaction':
    case 'opaque':
      return head;
    default:
      return assertNever(head);
  }
};

/** The parts of a message that the model wrote: a text, also an empty one, unless it only refuses. */
export const saidParts = ({
  text,
  refusal,
  annotations,
  logprobs,
}: Pick<Said, 'text' | 'refusal' | 'annotations' | 'logprobs'>): readonly Part[] => [
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

/** The words of a message's parts of one kind. */
export const wordsOf = ({ parts }: Pick<Message, 'parts'>, kind: 'text' | 'refusal'): string =>
  parts.flatMap((part) => (part.kind === kind ? [part.text] : [])).join('');

/** What of the answer's text an item is; commentary is none of it. */
export const answerOf = (item: Item): string =>
  item.kind === 'message' && item.phase !== 'commentary' ? wordsOf(item, 'text') : '';

/** Whether there is nothing in a message, such as the one that our own layout puts in front of calls. */
export const isEmptyContent = (parts: readonly Part[]): boolean =>
  parts.every((part) => (part.kind === 'text' || part.kind === 'refusal') && part.text === '');

/** The questions that code which is blind to kinds may ask of an item. */
export const isMessage = <I extends Item>(item: I): item is Extract<I, Message> => item.kind === 'message';
export const isReasoning = <I extends Item>(item: I): item is Extract<I, Reasoning> =>
  item.kind === 'reasoning';
export const isToolCall = <I extends Item>(item: I): item is Extract<I, ToolCall> =>
  item.kind === 'tool-call';

/** A summary reaches the model as something that it is told. */
export const isSummary = <I extends Item>(item: I): item is Extract<I, Summary> =>
  item.kind === 'compaction' && 'summary' in item;

/** Whether it is surely something that the model said or did, besides its reasoning. */
export const isFromModel = (item: Item): boolean =>
  item.kind === 'message'
    ? item.role === 'assistant'
    : !isReasoning(item) &&
      !isSummary(item) &&
      item.kind !== 'tool-output' &&
      item.kind !== 'loaded-tools' &&
      item.kind !== 'opaque';

/** The content parts of an item and the wire's name of the field that holds them. */
export const partsOf = (
  item: Item,
): { readonly field: 'content' | 'output'; readonly parts: readonly Part[] } => {
  if (item.kind === 'message') return { field: 'content', parts: item.parts };
  if (item.kind !== 'tool-output') return { field: 'content', parts: [] };
  return { field: 'output', parts: typeof item.output === 'string' ? [] : item.output };
};

/** The same item with other parts, where it has any. */
export const withParts = (item: Item, parts: readonly Part[]): Item => {
  if (item.kind === 'message') return { ...item, parts };
  return item.kind === 'tool-output' ? { ...item, output: parts } : item;
};
