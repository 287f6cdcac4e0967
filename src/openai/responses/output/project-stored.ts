import {
  rawOf,
  type Item,
  type Message,
  type Part,
  type Produced,
  type RawItem,
  type ToolOutput,
} from '../../../canonical/request/item.ts';
import { assertNever } from '../../../kit/assert-never.ts';
import { present, type JsonObject } from '../../../kit/json/json.ts';
import { breakpointOf } from '../../shared/cache-breakpoint.ts';
import { withIncluded, type Includable, type Includes } from './include.ts';
import { projectInputPart } from './project-part.ts';
import { projectItem, textPart } from './project.ts';

/** A stored response. */
export interface ShownResponse {
  /** The response object; its `output` is a placeholder. */
  readonly object: JsonObject;
  /** The output as the client saw it. */
  readonly items: readonly Produced[];
  /** The `include` of the request that created it. */
  readonly include: readonly string[];
}

/** Items are stored whole. */
const WHOLE = { includeEncryptedReasoning: true };

/**
 * The response object, as the request that created it would have got it with this `include`. A backend may send a field
 * without being asked; the creating request showed it, so it is shown here too.
 */
export const projectStoredResponse = (
  { object, items, include }: ShownResponse,
  asked: ReadonlySet<Includable>,
): JsonObject => {
  const includes: Includes = (field) =>
    asked.has(field) || (field !== 'reasoning.encrypted_content' && !include.includes(field));
  return { ...object, output: items.map((item) => withIncluded(asJson(projectItem(item, WHOLE)), includes)) };
};

/** An item of a stored conversation, input or output, in Responses API form. */
export const projectStoredItem = (
  { id, item }: { readonly id: string; readonly item: Item },
  asked: ReadonlySet<Includable>,
) => ({ ...withIncluded(wholeItem(item, id), (field) => asked.has(field)), id });

const wholeItem = (item: Item, id: string): JsonObject => {
  switch (item.kind) {
    case 'message':
      return message(item, id);
    case 'tool-output':
      return toolOutput(item, id);
    case 'reasoning':
    case 'tool-call':
    case 'compaction':
      return asJson(projectItem({ ...item, id }, WHOLE));
    case 'hosted-call':
      return withStatus(asJson(projectItem({ ...item, id }, WHOLE)), item.raw);
    case 'loaded-tools':
    case 'opaque':
      return withStatus(rawOf({ ...item, id }), item.raw);
    default:
      return assertNever(item);
  }
};

const message = ({ role, parts, status = 'completed', phase }: Message, id: string): JsonObject => ({
  id,
  type: 'message',
  status,
  role,
  content: parts.map((part) => (role === 'assistant' ? outputPart(part) : inputPart(part))),
  ...(phase === undefined ? {} : { phase }),
});

const outputPart = (part: Part): JsonObject =>
  part.kind === 'text'
    ? asJson(textPart(part.text, part.annotations, part.logprobs))
    : projectInputPart(part);

const inputPart = (part: Part): JsonObject => ({ ...projectInputPart(part), ...breakpointOf(part) });

const toolOutput = ({ tool, callId, name, namespace, output, more }: ToolOutput, id: string): JsonObject => ({
  id,
  type: tool === 'function' ? 'function_call_output' : 'custom_tool_call_output',
  status: 'completed',
  ...present({ call_id: callId, name, namespace }),
  output: typeof output === 'string' ? output : output.map(inputPart),
  ...more,
});

/** Items of clients need no status, but items that the API returns have one. */
const withStatus = (json: JsonObject, { type }: RawItem): JsonObject =>
  /_(?:call|output)$/.test(type) && (json['status'] ?? null) === null
    ? { ...json, status: 'completed' }
    : json;

/** Projections consist of JSON values only. */
const asJson = (projected: object): JsonObject => projected as JsonObject;
