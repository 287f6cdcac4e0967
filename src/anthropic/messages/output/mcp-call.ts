import type { HostedCall, Item } from '../../../canonical/request/item.ts';
import { isJsonObject, parseJsonObject, type Json, type JsonObject } from '../../../kit/json/json.ts';
import type { Block } from './blocks.ts';

type McpCall = HostedCall & { readonly id: string };

export const isMcpCall = (item: Item): item is McpCall =>
  item.kind === 'hosted-call' && item.id !== undefined && item.raw.type === 'mcp_call';

/** The call of a tool of an MCP server, and what the server answered, or why it did not. */
export const mcpCallBlocks = ({ id, raw }: McpCall): readonly Block[] => {
  const { name, server_label: server, arguments: given, output, error } = raw;
  const useId = `mcptoolu_${id}`;
  const isError = (error ?? null) !== null;
  const text = isError ? errorText(error) : typeof output === 'string' ? output : '';
  return [
    { type: 'mcp_tool_use', id: useId, name, server_name: server, input: inputOf(given) },
    {
      type: 'mcp_tool_result',
      tool_use_id: useId,
      is_error: isError,
      content: text === '' ? [] : [{ type: 'text', text }],
    },
  ];
};

/** Models write an object; any other text is its field `arguments`. */
const inputOf = (given: Json | undefined): JsonObject => {
  const text = typeof given === 'string' ? given : '';
  return parseJsonObject(text) ?? (text.trim() === '' ? {} : { arguments: text });
};

/** OpenAI's errors have a message, or the content of the tool's result. */
const errorText = (error: Json | undefined): string => {
  if (typeof error === 'string') return error;
  if (!isJsonObject(error)) return JSON.stringify(error ?? null);
  const { message, content } = error;
  if (typeof message === 'string') return message;
  const texts = Array.isArray(content)
    ? content.flatMap((part: Json) =>
        isJsonObject(part) && typeof part['text'] === 'string' ? [part['text']] : [],
      )
    : [];
  return texts.length > 0 ? texts.join('\n') : JSON.stringify(error);
};
