import { z } from 'zod';

import type { HostedCall } from '../../../canonical/request/item.ts';
import { idText, jsonObject } from '../../../apis/bounds.ts';
import { parseBody, readTagged } from '../../../apis/validation.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import { contentSchema, PartList, readPart } from './content-blocks.ts';

const useSchema = z.object({ id: idText, name: z.string(), input: jsonObject });
const resultSchema = z.object({ tool_use_id: idText });

/** The id of a search that this server reported: Anthropic's prefix in front of the id of the backend's item. */
const OWN_SEARCH = /^srvtoolu_(?<id>ws_[\w-]+)$/;

/** The backend's item for a tool that Anthropic would have run; null if it is not from this server. */
export const readServerToolUse = (block: JsonObject, at: string): HostedCall | null => {
  const { id: useId, name, input } = parseBody(useSchema, block, at);
  const id = OWN_SEARCH.exec(useId)?.groups?.['id'];
  if (id === undefined || name !== 'web_search') return null;
  const action = { type: 'search', ...input };
  return { kind: 'hosted-call', id, raw: { type: 'web_search_call', status: 'completed', action } };
};

/** Whether a result belongs to a search of this server, whose item contains it. */
export const isOwnResult = (block: JsonObject, at: string): boolean =>
  OWN_SEARCH.test(parseBody(resultSchema, block, at).tool_use_id);

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
