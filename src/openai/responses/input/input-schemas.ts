import { z } from 'zod';

import {
  idText,
  jsonObject,
  list,
  listOf,
  longText,
  MAX_ID_CHARS,
  MAX_PARTS,
  MAX_TOOLS,
} from '../../../apis/bounds.ts';

/** The field for codex's metadata of an item. */
export const NOTES = 'internal_chat_message_metadata_passthrough';

const id = z.string().max(MAX_ID_CHARS).nullish();
const status = z.string().nullish();
const notes = { [NOTES]: jsonObject.nullish() };

const caller = jsonObject.nullish();
const head = { id, status, ...notes };
const callHead = {
  ...head,
  call_id: idText,
  name: idText,
  namespace: z.string().nullish(),
  caller,
  async: z.boolean().nullish(),
};
const outputHead = { ...head, output: z.unknown(), caller };

/** Other type names of a compaction that is sent back. */
const COMPACTION_TOO = ['compaction_summary', 'context_compaction'] as const;

/** Only the fields that are read: clients send back complete output items. */
export const schemas = {
  message: z.object({
    type: z.literal('message').optional(),
    ...head,
    role: z.enum(['user', 'assistant', 'system', 'developer']),
    content: z.union([longText, list(MAX_PARTS)]),
    phase: z.enum(['commentary', 'final_answer']).nullish(),
  }),
  reasoning: z.object({
    type: z.literal('reasoning'),
    ...head,
    summary: listOf(z.object({ type: z.literal('summary_text'), text: longText }), MAX_PARTS),
    content: listOf(z.object({ type: z.literal('reasoning_text'), text: longText }), MAX_PARTS).nullish(),
    encrypted_content: z.string().nullish(),
  }),
  function_call: z.object({ type: z.literal('function_call'), ...callHead, arguments: longText }),
  custom_tool_call: z.object({ type: z.literal('custom_tool_call'), ...callHead, input: longText }),
  function_call_output: z.object({
    type: z.enum(['function_call_output', 'tool_output']),
    ...outputHead,
    // Without it, the name says which tool the output is from.
    call_id: idText.nullish(),
    name: z.string().nullish(),
    namespace: z.string().nullish(),
  }),
  custom_tool_call_output: z.object({
    type: z.literal('custom_tool_call_output'),
    ...outputHead,
    call_id: idText,
  }),
  compaction: z.object({
    type: z.enum(['compaction', ...COMPACTION_TOO]),
    id,
    ...notes,
    encrypted_content: z.string(),
  }),
  tool_search_output: z.looseObject({ type: z.literal('tool_search_output'), tools: list(MAX_TOOLS) }),
  additional_tools: z.looseObject({
    type: z.literal('additional_tools'),
    role: z.literal('developer'),
    tools: list(MAX_TOOLS),
  }),
  item_reference: z.object({ type: z.literal('item_reference').nullish(), id: idText }),
  /** Items of hosted tools and unknown items, which are passed through. */
  raw: z.looseObject({ type: idText, id }),
} as const;

export type ItemType = keyof typeof schemas;
export const isItemType = (type: string): type is ItemType => type !== 'raw' && Object.hasOwn(schemas, type);
