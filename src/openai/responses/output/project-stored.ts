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
import { present, type JsonObject, isJsonObject, listIn, textIn, type Json } from '../../../kit/json/json.ts';
import { breakpointOf } from '../../shared/field-schemas.ts';
import { projectItem, textPart, projectUsage, type AnswerMeta } from './project.ts';
import { invalidChoice } from '../../../apis/validation.ts';
import type { Reply } from '../../../canonical/events/accumulate.ts';
import { isKeptByCompaction } from '../../../canonical/request/compaction.ts';
import { gatewayError } from '../../../canonical/failure/failure.ts';
import type { IdSource } from '../../../kit/ambient.ts';

/** A stored response. */
interface ShownResponse {
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

/** The fields that an answer has only if its request names them in `include`. */
export const INCLUDABLE = [
  'file_search_call.results',
  'web_search_call.results',
  'web_search_call.action.sources',
  'message.input_image.image_url',
  'computer_call_output.output.image_url',
  'code_interpreter_call.outputs',
  'reasoning.encrypted_content',
  'message.output_text.logprobs',
] as const;

export type Includable = (typeof INCLUDABLE)[number];

/** Whether a field is shown. */
type Includes = (field: Includable) => boolean;

/** Reads `include` from a query: repeated, with or without brackets, or separated by commas. Throws if a value is unknown. */
export const readInclude = (query: URLSearchParams): ReadonlySet<Includable> =>
  new Set(
    [...query]
      .filter(([name]) => /^include(?:\[\d*\])?$/.test(name))
      .flatMap(([, value]) => value.split(','))
      .filter((value) => value !== '')
      .map((value) => {
        const known = INCLUDABLE.find((one) => one === value);
        if (known === undefined) throw invalidChoice('include', value, INCLUDABLE);
        return known;
      }),
  );

/** Removes the fields of an item that are not shown. Fields that the API requires become empty. */
export const withIncluded = (item: JsonObject, includes: Includes): JsonObject => {
  switch (textIn(item, 'type')) {
    case 'message':
      return { ...item, content: listIn(item, 'content').map((part) => partWith(part, includes)) };
    case 'reasoning':
      return includes('reasoning.encrypted_content') ? item : without(item, 'encrypted_content');
    case 'file_search_call':
      return includes('file_search_call.results') ? item : emptied(item, 'results', null);
    case 'code_interpreter_call':
      return includes('code_interpreter_call.outputs') ? item : emptied(item, 'outputs', null);
    case 'web_search_call':
      return webSearchWith(item, includes);
    case 'computer_call_output': {
      const { output } = item;
      return includes('computer_call_output.output.image_url') || !isJsonObject(output)
        ? item
        : { ...item, output: without(output, 'image_url') };
    }
    default:
      return item;
  }
};

const partWith = (part: Json, includes: Includes): Json => {
  if (!isJsonObject(part)) return part;
  switch (textIn(part, 'type')) {
    case 'output_text':
      return includes('message.output_text.logprobs') ? part : emptied(part, 'logprobs', []);
    case 'input_image':
      return includes('message.input_image.image_url') ? part : emptied(part, 'image_url', null);
    default:
      return part;
  }
};

const webSearchWith = (item: JsonObject, includes: Includes): JsonObject => {
  const shown = includes('web_search_call.results') ? item : without(item, 'results');
  const { action } = shown;
  return includes('web_search_call.action.sources') || !isJsonObject(action)
    ? shown
    : { ...shown, action: without(action, 'sources') };
};

/** The same order of members, so that an answer is the same to the byte each time. */
const emptied = (object: JsonObject, key: string, empty: Json): JsonObject =>
  key in object ? { ...object, [key]: empty } : object;

const without = (object: JsonObject, key: string): JsonObject => {
  const { [key]: _, ...rest } = object;
  return rest;
};

/** A part of a message or of a tool output in input form. */
const projectInputPart = (part: Part): JsonObject => {
  switch (part.kind) {
    case 'text':
      return { type: 'input_text', text: part.text };
    case 'image':
      return { type: 'input_image', image_url: part.url, detail: part.detail ?? 'auto' };
    case 'audio':
      return { type: 'input_audio', input_audio: { data: part.data, format: part.format } };
    case 'file':
      return part.raw;
    case 'refusal':
      return { type: 'refusal', refusal: part.text };
    default:
      return assertNever(part);
  }
};

/** What a compacted conversation needs besides the reply. */
export interface CompactionMeta extends AnswerMeta {
  /** The conversation from the request. */
  readonly items: readonly Item[];
}

/** The compacted conversation. Clients send it as the input of the next request. */
export const projectCompaction = (reply: Reply, meta: CompactionMeta, ids: IdSource) => {
  const compactions = reply.items.filter(({ kind }) => kind === 'compaction');
  if (reply.outcome.kind === 'incomplete' || compactions.length === 0) throw unfinished(reply);
  return {
    id: meta.id,
    object: 'response.compaction' as const,
    created_at: meta.createdAt,
    output: [
      ...meta.items.filter(isKeptByCompaction).flatMap((item) => projectKept(item, ids)),
      ...compactions.map((item) => projectItem(item, { includeEncryptedReasoning: false })),
    ],
    usage: projectUsage(reply.usage, meta.usagePolicy),
  };
};

/** This API has no status for an incomplete answer, so it fails. */
const unfinished = ({ outcome }: Reply) =>
  gatewayError('upstream_error', {
    message:
      outcome.kind === 'incomplete'
        ? `The compaction is incomplete (${outcome.reason}).`
        : 'The conversation was not compacted.',
  });

const projectKept = (item: Item, ids: IdSource): readonly JsonObject[] => {
  if (item.kind === 'message') return [projectMessage(item, item.id ?? ids.mint('msg'))];
  return item.kind === 'loaded-tools' ? [rawOf({ ...item, id: item.id ?? ids.mint('at') })] : [];
};

const projectMessage = ({ role, parts }: Message, id: string): JsonObject => ({
  id,
  type: 'message',
  status: 'completed',
  role,
  content: parts.map(projectInputPart),
});
