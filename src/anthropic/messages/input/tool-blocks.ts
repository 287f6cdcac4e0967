import { z } from 'zod';

import type { Part, ToolCall, ToolOutput } from '../../../canonical/request/item.ts';
import { idText, jsonObject } from '../../../apis/bounds.ts';
import { failedOutput } from '../../../apis/failed-output.ts';
import { noteUnread } from '../../../apis/unread-fields.ts';
import { parseBody, readTagged } from '../../../apis/validation.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import { blocksOf } from './block-types.ts';
import { cacheControl, contentSchema, PartList, readPart } from './content-blocks.ts';
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

export interface ReadToolResult {
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
