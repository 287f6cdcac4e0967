import type { Part, ToolCall } from '../../../canonical/request/item.ts';
import type { WriteMcpCall } from '../../../codex/translate/mcp-history.ts';
import { isJsonObject, parseJsonObject, textIn, type Json } from '../../../kit/json/json.ts';

/** Its input is a patch, while the arguments of an `mcp_call` are JSON. */
const FREEFORM = 'apply_patch';

/** The arguments of a call of codex as an `mcp_call` shows them. */
export const shownArguments = ({ tool, input }: Pick<ToolCall, 'tool' | 'input'>): string =>
  tool === 'custom' ? JSON.stringify({ patch: input }) : input;

/** A call of codex as the model has seen it, from an `mcp_call` or an `mcp_approval_request`. */
export const asCodexCall: WriteMcpCall = (raw, callId, output) => {
  const name = textIn(raw, 'name');
  const tool = name === FREEFORM ? 'custom' : 'function';
  const given = textIn(raw, 'arguments');
  const input = tool === 'custom' ? patchIn(given) : given;
  return [
    { kind: 'tool-call', tool, callId, name, input },
    { kind: 'tool-output', tool, callId, output: heardOutput(name, output) },
  ];
};

/** Clients without streams may send back another text than they got. */
const patchIn = (given: string): string => {
  const { patch } = parseJsonObject(given) ?? {};
  return typeof patch === 'string' ? patch : given;
};

/** The output that the model heard. Only an image has parts; a command may print any JSON. */
const heardOutput = (name: string, output: string): string | readonly Part[] => {
  if (name !== 'view_image' || !output.startsWith('[{')) return output;
  const parts = listedIn(output).map(partOf);
  return parts.length > 0 && parts.every((part) => part !== null) ? parts : output;
};

const listedIn = (text: string): readonly Json[] => {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? (value as readonly Json[]) : [];
  } catch {
    return [];
  }
};

const DETAILS = ['auto', 'low', 'high', 'original'] as const;

const partOf = (part: Json): Part | null => {
  if (!isJsonObject(part)) return null;
  const { type, text, image_url: url, detail: given } = part;
  if (type === 'input_text' && typeof text === 'string') return { kind: 'text', text };
  if (type !== 'input_image' || typeof url !== 'string') return null;
  const detail = DETAILS.find((one) => one === given);
  return { kind: 'image', url, ...(detail === undefined ? {} : { detail }) };
};
