import { z } from 'zod';

import type { Item, Message, Reasoning, Role } from '../../../canonical/request/item.ts';
import { MAX_PARTS, MAX_TEXT, rejectTooManyParts } from '../../../apis/bounds.ts';
import { noteUnread, emptyArray, missing, parseBody, readTagged } from '../../../apis/validation.ts';
import { assertNever } from '../../../kit/assert-never.ts';
import { isJsonObject, type JsonObject } from '../../../kit/json/json.ts';
import { blocksOf, contentSchema, PartList, readPart } from './content-blocks.ts';
import {
  isOwnResult,
  mcpUseIdOf,
  readMcpToolUse,
  readServerToolUse,
  type OpenMcpCall,
  readToolResult,
  readToolUse,
} from './tool-blocks.ts';
import { effortWord } from './thinking.ts';

export interface ReadConversation {
  readonly items: readonly Item[];
  /** The location of each item in the body. */
  readonly places: readonly string[];
  /** The location of each part of an item, by the location of the item. */
  readonly partPlaces: ReadonlyMap<string, readonly string[]>;
  /** Locations of fields and blocks without effect. */
  readonly unread: readonly string[];
  readonly toolChanges: readonly ToolChange[];
  /** The effort that the last system message with one asks for; null: none does. */
  readonly effort: string | null;
}

/** A block that changes which tools the model can call from there on. */
export interface ToolChange {
  readonly kind: 'tool_addition' | 'tool_removal' | 'tool_reference';
  readonly block: JsonObject;
  readonly at: string;
  /** The number of items in front of the change. */
  readonly index: number;
}

/** Reads a `thinking` or `redacted_thinking` block; null if this server did not write it. */
export type ReadReasoning = (block: JsonObject) => Reasoning | null;

const ROLES = ['user', 'assistant', 'system'] as const satisfies readonly Role[];
const schemas = {
  user: z.object({ role: z.string(), content: contentSchema }),
  assistant: z.object({ role: z.string(), content: contentSchema }),
  system: z.object({
    role: z.string(),
    content: contentSchema.nullish(),
    clear_at: z.enum(['next_user_message', 'never']).nullish(),
    output_config: z.object({ effort: effortWord.nullish() }).nullish(),
  }),
} as const;

const USER_BLOCKS = blocksOf('user');
const ASSISTANT_BLOCKS = blocksOf('assistant');
const SYSTEM_BLOCKS = blocksOf('system');

/** Claude Code's first system block. It differs in every request, and would make each a new prompt. */
const BILLING = 'x-anthropic-billing-header:';

/** Reads the conversation: the system prompt in front, then the messages. */
export const readMessageItems = (
  system: string | readonly unknown[] | null | undefined,
  messages: readonly unknown[],
  readReasoning: ReadReasoning,
): ReadConversation => {
  rejectTooManyParts(messages, 'messages');
  if (messages.length === 0) throw emptyArray('messages');
  const reader = new MessageReader(messages, readReasoning);
  if (system !== undefined && system !== null) reader.readPrompt(system);
  for (const [index, message] of messages.entries()) reader.read(message, index);
  return reader;
};

class MessageReader implements ReadConversation {
  readonly items: Item[] = [];
  readonly places: string[] = [];
  readonly partPlaces = new Map<string, readonly string[]>();
  readonly unread: string[] = [];
  readonly toolChanges: ToolChange[] = [];
  effort: string | null = null;
  readonly #lastUser: number;
  readonly #readReasoning: ReadReasoning;

  constructor(messages: readonly unknown[], readReasoning: ReadReasoning) {
    this.#lastUser = messages.findLastIndex((one) => isJsonObject(one) && one['role'] === 'user');
    this.#readReasoning = readReasoning;
  }

  readPrompt(value: string | readonly unknown[]): void {
    const content = parseBody(contentSchema, value, 'system');
    const parts = new PartList();
    if (typeof content === 'string') parts.addText(content, 'system');
    else {
      for (const [index, block] of content.entries()) {
        const at = `system[${index}]`;
        const { object } = readTagged(block, 'type', ['text'], at);
        if (typeof object['text'] === 'string' && object['text'].startsWith(BILLING)) continue;
        readPart('text', object, at, parts, this.unread);
      }
    }
    this.#addMessage('system', parts, 'system');
  }

  read(value: unknown, index: number): void {
    const at = `messages[${index}]`;
    const { tag: role, object } = readTagged(value, 'role', ROLES, at);
    const plain = plainContent(object);
    if (plain === null) noteUnread(this.unread, schemas[role], object, at);
    switch (role) {
      case 'user':
        this.#user(plain ?? parseBody(schemas.user, object, at).content, at);
        return;
      case 'assistant':
        this.#assistant(plain ?? parseBody(schemas.assistant, object, at).content, at);
        return;
      case 'system':
        this.#system(parseBody(schemas.system, object, at), index, at);
        return;
      default:
        assertNever(role);
    }
  }

  /** The outputs of tools come first, as Anthropic requires: they belong to the calls before the message. */
  #user(content: string | readonly unknown[], at: string): void {
    const parts = new PartList();
    const before = this.items.length;
    const contentAt = `${at}.content`;
    if (typeof content === 'string') parts.addText(content, contentAt);
    else {
      for (const [index, block] of content.entries()) {
        const place = `${contentAt}[${index}]`;
        const { tag, object } = readTagged(block, 'type', USER_BLOCKS, place);
        if (tag === 'tool_result') this.#toolResult(object, place);
        else readPart(tag, object, place, parts, this.unread);
      }
    }
    // A message of nothing but empty texts still is the user's turn.
    const isEmpty = parts.parts.length === 0 && this.items.length === before;
    if (isEmpty) parts.add({ kind: 'text', text: '' }, contentAt);
    this.#addMessage('user', parts, at);
  }

  #toolResult(block: JsonObject, at: string): void {
    const { item, partPlaces, references } = readToolResult(block, at, this.unread);
    this.#add(item, at);
    this.partPlaces.set(at, partPlaces);
    for (const [reference, place] of references) this.#changeTools('tool_reference', reference, place);
  }

  /** Every block is an item of its own, as in the answer that it comes from. */
  #assistant(content: string | readonly unknown[], at: string): void {
    if (typeof content === 'string') {
      this.#assistantText(content, at);
      return;
    }
    const mcpCalls = new Map<string, OpenMcpCall & { readonly place: string }>();
    for (const [index, block] of content.entries()) {
      const place = `${at}.content[${index}]`;
      const { tag, object } = readTagged(block, 'type', ASSISTANT_BLOCKS, place);
      switch (tag) {
        case 'text': {
          const parts = new PartList();
          readPart('text', object, place, parts, this.unread);
          this.#addMessage('assistant', parts, place);
          break;
        }
        case 'tool_use':
          this.#add(readToolUse(object, place, this.unread), place);
          break;
        case 'thinking':
        case 'redacted_thinking': {
          const reasoning = this.#readReasoning(object);
          if (reasoning !== null) this.#add(reasoning, place);
          break;
        }
        case 'server_tool_use': {
          const call = readServerToolUse(object, place);
          if (call === null) this.unread.push(place);
          else this.#add(call, place);
          break;
        }
        case 'web_search_tool_result':
          if (!isOwnResult(object, place)) this.unread.push(place);
          break;
        case 'mcp_tool_use': {
          const call = readMcpToolUse(object, place);
          mcpCalls.set(call.useId, { ...call, place });
          break;
        }
        case 'mcp_tool_result': {
          const useId = mcpUseIdOf(object, place);
          const call = mcpCalls.get(useId);
          mcpCalls.delete(useId);
          if (call === undefined) this.unread.push(place);
          else this.#add(call.end(object, place, this.unread), call.place);
          break;
        }
        default:
          assertNever(tag);
      }
    }
    for (const { place } of mcpCalls.values()) this.unread.push(place);
  }

  #assistantText(text: string, at: string): void {
    const parts = new PartList();
    parts.addText(text, `${at}.content`);
    this.#addMessage('assistant', parts, at);
  }

  #system(parsed: z.output<typeof schemas.system>, index: number, at: string): void {
    const { content, clear_at: clearAt, output_config: config } = parsed;
    if ((content ?? null) === null && !config?.effort) throw missing(`${at}.content`);
    this.effort = config?.effort ?? this.effort;
    const parts = new PartList();
    if (typeof content === 'string') parts.addText(content, `${at}.content`);
    else {
      for (const [position, block] of (content ?? []).entries()) {
        const place = `${at}.content[${position}]`;
        const { tag, object } = readTagged(block, 'type', SYSTEM_BLOCKS, place);
        if (tag === 'text') readPart('text', object, place, parts, this.unread);
        else this.#changeTools(tag, object, place);
      }
    }
    const isCleared = clearAt === 'next_user_message' && index < this.#lastUser;
    if (!isCleared) this.#addMessage('system', parts, at);
  }

  #changeTools(kind: ToolChange['kind'], block: JsonObject, at: string): void {
    this.toolChanges.push({ kind, block, at, index: this.items.length });
  }

  #addMessage(role: Message['role'], { parts, places }: PartList, at: string): void {
    if (parts.length === 0) return;
    this.#add({ kind: 'message', role, parts }, at);
    this.partPlaces.set(at, places);
  }

  #add(item: Item, at: string): void {
    this.items.push(item);
    this.places.push(at);
  }
}

/** The content of a message that is nothing else, as most are, without the schema. Null: the schema reads it. */
const plainContent = (message: JsonObject): string | readonly unknown[] | null => {
  for (const key in message) if (key !== 'role' && key !== 'content') return null;
  const { content } = message;
  if (typeof content === 'string') return content.length <= MAX_TEXT ? content : null;
  return Array.isArray(content) && content.length <= MAX_PARTS ? content : null;
};
