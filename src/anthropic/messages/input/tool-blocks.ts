import { z } from 'zod';

import type { Part, ToolCall, ToolOutput, HostedCall } from '../../../canonical/request/item.ts';
import { idText, jsonObject } from '../../../apis/bounds.ts';
import { failedOutput, noteUnread, parseBody, readTagged } from '../../../apis/validation.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import { blocksOf, cacheControl, contentSchema, PartList, readPart } from './content-blocks.ts';
import { backendName } from '../tool-names.ts';

const useSchema = z.object({
  type: z.string(),
  id: idText,
  name: idText,
  input: jsonObject,
  // Models call tools directly, so it says nothing new.
  caller: z.unknown().optional(),
  ...cacheControl,
});
const resultSchema = z.object({
  type: z.string(),
  tool_use_id: idText,
  content: contentSchema.nullish(),
  is_error: z.boolean().nullish(),
  ...cacheControl,
});

export const readToolUse = (block: JsonObject, at: string, unread: string[]): ToolCall => {
  noteUnread(unread, useSchema, block, at);
  const { id, name, input } = parseBody(useSchema, block, at);
  return {
    kind: 'tool-call',
    tool: 'function',
    callId: id,
    name: backendName(name),
    input: JSON.stringify(input),
  };
};

const BLOCKS = blocksOf('tool_result');

interface ReadToolResult {
  readonly item: ToolOutput;
  /** The location of each part of the output. */
  readonly partPlaces: readonly string[];
  /** Blocks that name a deferred tool, and their locations. */
  readonly references: readonly (readonly [JsonObject, string])[];
}

export const readToolResult = (block: JsonObject, at: string, unread: string[]): ReadToolResult => {
  noteUnread(unread, resultSchema, block, at);
  const { tool_use_id: callId, content, is_error: isError } = parseBody(resultSchema, block, at);
  const list = new PartList();
  const references: (readonly [JsonObject, string])[] = [];
  const place = `${at}.content`;
  if (typeof content === 'string') list.addText(content, place);
  else {
    for (const [index, inner] of (content ?? []).entries()) {
      const innerAt = `${place}[${index}]`;
      const { tag, object } = readTagged(inner, 'type', BLOCKS, innerAt);
      if (tag === 'tool_reference') references.push([object, innerAt]);
      else readPart(tag, object, innerAt, list, unread);
    }
  }
  const parts = list.parts.map(replaceable);
  const output = isError === true ? failedOutput(plainOutput(parts)) : plainOutput(parts);
  // The words of a failure are one more part in front.
  const added = typeof output === 'string' ? 0 : output.length - list.parts.length;
  return {
    item: { kind: 'tool-output', tool: 'function', callId, output },
    partPlaces: added === 0 ? list.places : [at, ...list.places],
    references,
  };
};

/**
 * A result stays in the conversation, so that a file which the backend does not take would end it: Claude Code reads PDFs
 * like this. The model reads why it is missing.
 */
const replaceable = (part: Part): Part => (part.kind === 'file' ? { ...part, otherwise: NO_FILES } : part);

const NO_FILES =
  'This file cannot be shown here: the model takes text and images only. Extract its text with another tool.';

/** A single text is the same as a string: clients rewrite one as the other to mark a cached prefix. */
const plainOutput = (parts: readonly Part[]): string | readonly Part[] => {
  const [first] = parts;
  if (first === undefined) return '';
  return parts.length === 1 && first.kind === 'text' ? first.text : parts;
};

const serverUseSchema = z.object({ id: idText, name: z.string(), input: jsonObject });
const serverResultSchema = z.object({ tool_use_id: idText });

/** The id of a search that this server reported: Anthropic's prefix in front of the id of the backend's item. */
const OWN_SEARCH = /^srvtoolu_(?<id>ws_[\w-]+)$/;

/** The backend's item for a tool that Anthropic would have run; null if it is not from this server. */
export const readServerToolUse = (block: JsonObject, at: string): HostedCall | null => {
  const { id: useId, name, input } = parseBody(serverUseSchema, block, at);
  const id = OWN_SEARCH.exec(useId)?.groups?.['id'];
  if (id === undefined || name !== 'web_search') return null;
  const action = { type: 'search', ...input };
  return { kind: 'hosted-call', id, raw: { type: 'web_search_call', status: 'completed', action } };
};

/** Whether a result belongs to a search of this server, whose item contains it. */
export const isOwnResult = (block: JsonObject, at: string): boolean =>
  OWN_SEARCH.test(parseBody(serverResultSchema, block, at).tool_use_id);

const mcpUseSchema = z.object({ id: idText, name: idText, server_name: idText, input: jsonObject });
const mcpResultSchema = z.object({
  tool_use_id: idText,
  content: contentSchema.nullish(),
  is_error: z.boolean().nullish(),
});

/** A call of a tool of an MCP server whose result has not been read yet. */
export interface OpenMcpCall {
  readonly useId: string;
  /** The call with its result. */
  readonly end: (block: JsonObject, at: string, unread: string[]) => HostedCall;
}

/** The prefix of ids of calls, also of those that Anthropic ran. This server adds it to the id of the item. */
const MCP_USE = /^mcptoolu_(?:mcp_)?/;

export const readMcpToolUse = (block: JsonObject, at: string): OpenMcpCall => {
  const { id: useId, name, server_name: server, input } = parseBody(mcpUseSchema, block, at);
  return {
    useId,
    end(result, resultAt, unread) {
      const { content, is_error: isError } = parseBody(mcpResultSchema, result, resultAt);
      const text =
        typeof content === 'string' ? content : textsOf(content ?? [], `${resultAt}.content`, unread);
      return {
        kind: 'hosted-call',
        id: `mcp_${useId.replace(MCP_USE, '')}`,
        raw: {
          type: 'mcp_call',
          status: isError === true ? 'failed' : 'completed',
          server_label: server,
          name,
          arguments: JSON.stringify(input),
          output: isError === true ? null : text,
          error: isError === true ? text : null,
          approval_request_id: null,
        },
      };
    },
  };
};

/** The call that a result belongs to. */
export const mcpUseIdOf = (block: JsonObject, at: string): string =>
  parseBody(mcpResultSchema, block, at).tool_use_id;

const textsOf = (blocks: readonly unknown[], at: string, unread: string[]): string => {
  const parts = new PartList();
  for (const [index, block] of blocks.entries()) {
    const place = `${at}[${index}]`;
    readPart('text', readTagged(block, 'type', ['text'], place).object, place, parts, unread);
  }
  return parts.parts.map((part) => (part.kind === 'text' ? part.text : '')).join('\n');
};
