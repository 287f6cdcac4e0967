import * as fc from 'fast-check';

import type { Json, JsonObject } from '../../src/kit/json/json.ts';
import { without } from './exact-differences.ts';
import { HOSTED_ITEMS, type HostedItem } from '../support/hosted-items.ts';

/** Conversations that a client could send, with everything that could get lost on the way. */

const PNG =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=';

export const text: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.constantFrom(
    ' ',
    '\r\n\r\ndata: [DONE]\n\n',
    '😀 \u2028 \u0000',
    '{"half": ',
    '<environment_context>',
    'aborted',
    'x'.repeat(3_000),
  ),
);
export const shortText = text.filter((value) => value.length <= 64);
export const someText = text.filter((value) => value !== '');

/** Absent ids, ids in the form of a backend, and unusual ones, including those that we use to find items. */
const id: fc.Arbitrary<{ id?: string | null }> = fc.oneof(
  fc.constant({}),
  fc.constantFrom(
    { id: 'msg_0123456789abcdef' },
    { id: 'px_0' },
    { id: 'px_1' },
    { id: '😀 with a space' },
    { id: 'i'.repeat(300) },
    { id: '' },
    { id: null },
  ),
);
const status = fc.constantFrom<{ status?: string | null }>({}, { status: 'completed' }, { status: null });

/** A field that is present in half of the cases. */
export const maybe = <Value>(name: string, value: fc.Arbitrary<Value>): fc.Arbitrary<Record<string, Value>> =>
  fc.option(value, { nil: undefined }).map((one) => (one === undefined ? {} : { [name]: one }));

export const merged = (...pieces: readonly fc.Arbitrary<object>[]): fc.Arbitrary<JsonObject> =>
  fc.tuple(...pieces).map((all) => Object.assign({}, ...all) as JsonObject);

/** Metadata that codex adds to items. */
const notes = maybe(
  'internal_chat_message_metadata_passthrough',
  fc.constantFrom<Json>({ turn_id: 't', create_time: 1.5, kinds: [null] }, null),
);

const image = fc
  .constantFrom(undefined, null, 'auto', 'low', 'high', 'original')
  .map((detail) => ({ type: 'input_image', image_url: PNG, ...(detail === undefined ? {} : { detail }) }));

const breakpoint = maybe(
  'prompt_cache_breakpoint',
  fc.constantFrom<Json>({ mode: 'explicit', ttl: '12h', deep: [null] }, null),
);

/** Fields of a call and its output that only a backend reads. */
const caller = maybe('caller', fc.constantFrom<Json>({ type: 'program', caller_id: 'c' }, null));

const plainPart: fc.Arbitrary<JsonObject> = fc.oneof(
  text.map((value) => ({ type: 'input_text', text: value })),
  image,
  fc.constant({ type: 'input_audio', input_audio: { data: WAV, format: 'wav' } }),
  text
    .filter((value) => !value.includes('\u0000'))
    .map((value) => ({
      type: 'input_file',
      filename: 'notes.md',
      file_data: `data:text/markdown;base64,${Buffer.from(value).toString('base64')}`,
    })),
);

/** Audio parts have no other fields in the Responses API. */
const inputPart = merged(plainPart, breakpoint).map((part) =>
  part['type'] === 'input_audio' ? without(part, 'prompt_cache_breakpoint') : part,
);

const citation: JsonObject = {
  type: 'url_citation',
  url: 'https://a.b/',
  title: '',
  start_index: 0,
  end_index: 1,
};

const outputPart: fc.Arbitrary<JsonObject> = fc.oneof(
  merged(
    text.map((value) => ({ type: 'output_text', text: value })),
    maybe('annotations', fc.constantFrom<Json>([], [citation], null)),
    maybe('logprobs', fc.constantFrom<Json>([], null)),
  ),
  text.map((value) => ({ type: 'refusal', refusal: value })),
);

const message: fc.Arbitrary<JsonObject> = fc
  .constantFrom('user', 'system', 'developer', 'assistant')
  .chain((role) =>
    merged(
      maybe('type', fc.constant('message')),
      fc.constant({ role }),
      id,
      status,
      notes,
      fc
        .oneof(text, fc.array(role === 'assistant' ? outputPart : inputPart, { minLength: 1, maxLength: 3 }))
        .map((content) => ({ content })),
      role === 'assistant'
        ? maybe('phase', fc.constantFrom('commentary', 'final_answer', null))
        : fc.constant({}),
    ),
  );

const reasoning: fc.Arbitrary<JsonObject> = merged(
  fc.constant({ type: 'reasoning' }),
  id,
  status,
  notes,
  fc
    .array(text, { maxLength: 2 })
    .map((texts) => ({ summary: texts.map((value) => ({ type: 'summary_text', text: value })) })),
  maybe(
    'content',
    fc.option(
      fc
        .array(text, { maxLength: 2 })
        .map((texts) => texts.map((value) => ({ type: 'reasoning_text', text: value }))),
    ),
  ),
  maybe('encrypted_content', fc.constantFrom('gAAAAA-opaque', '', null)),
).filter((item) => !isReference(item));

/** Reasoning with nothing but an id refers to a stored item. */
const isReference = ({ id: own, summary, content, encrypted_content: sealed }: JsonObject): boolean =>
  [summary, content].every((list) => !Array.isArray(list) || list.length === 0) &&
  (sealed ?? null) === null &&
  (own ?? '') !== '';

/** A call and its output, or two parallel calls; `conversation` makes their ids unique. */
const callType = fc.constantFrom('function', 'custom');
const callPair: fc.Arbitrary<readonly JsonObject[]> = callType.chain((kind) =>
  fc
    .tuple(
      merged(
        fc.constant({ type: kind === 'function' ? 'function_call' : 'custom_tool_call' }),
        id,
        status,
        notes,
        fc.constantFrom('get_weather', 'never declared', 'mcp__a__b', '名').map((name) => ({ name })),
        kind === 'function'
          ? fc.oneof(text, fc.constantFrom('{ "city":"Oslo" }', '{}')).map((value) => ({ arguments: value }))
          : text.map((value) => ({ input: value })),
        maybe('namespace', fc.constantFrom('tools', null)),
        caller,
      ),
      merged(
        fc.constant({ type: kind === 'function' ? 'function_call_output' : 'custom_tool_call_output' }),
        id,
        status,
        notes,
        fc
          .oneof(text, fc.array(inputPart, { maxLength: 3 }))
          .chain((output) => fc.constantFrom<Json[]>(output, { content: output, success: true }))
          .map((output) => ({ output })),
        caller,
      ),
    )
    .map((pair) => [...pair]),
);
/** Codex sends such an output after an approved plan. */
const uncalled: fc.Arbitrary<readonly JsonObject[]> = merged(
  fc.constant({ type: 'function_call_output', name: 'plan' }),
  id,
  status,
  notes,
  maybe('namespace', fc.constant('editor')),
  fc.oneof(text, fc.array(inputPart, { maxLength: 3 })).map((output) => ({ output })),
  caller,
).map((item) => [item]);
const calls: fc.Arbitrary<readonly JsonObject[]> = fc.oneof(
  callPair,
  uncalled,
  fc.tuple(callPair, callPair).map(([one, other]) => [one[0], other[0], other[1], one[1]] as JsonObject[]),
);

const carried: fc.Arbitrary<JsonObject> = fc.constantFrom<JsonObject[]>(
  {
    type: 'web_search_call',
    id: 'ws_1',
    status: 'completed',
    action: { type: 'search', query: 'rain', sources: null },
  },
  { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'aGk=' },
  { type: 'image_generation_call', id: 'ig_2', status: 'failed', result: null },
  ...Object.values<HostedItem>(HOSTED_ITEMS).map(({ prefix, initial, ended }) => ({
    id: `${prefix}_3`,
    ...initial,
    ...ended,
  })),
  { type: 'local_shell_call_output', id: 'call_lsh', output: '{}' },
  {
    type: 'computer_call_output',
    call_id: 'call_cu',
    output: { type: 'computer_screenshot', image_url: PNG },
  },
  { type: 'mcp_approval_response', approval_request_id: 'mcpr_3', approve: true, reason: null },
  { type: 'telepathy', id: 'px_2', content: [{ thought: null }] },
  { type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAAAA-compacted' },
  { type: 'compaction', encrypted_content: 'gAAAAA-compacted' },
  {
    type: 'additional_tools',
    role: 'developer',
    tools: [
      { type: 'function', name: 'brought', parameters: { type: 'object', minProperties: 1 } },
      { type: 'custom', name: 'written', format: { type: 'text' } },
    ],
  },
);

const SEARCHED: readonly JsonObject[] = [
  {
    type: 'tool_search_call',
    id: 'tsc_1',
    status: 'completed',
    execution: 'client',
    arguments: { query: 'days', more: [null, { '': 1e300 }] },
  },
  {
    type: 'tool_search_output',
    status: null,
    execution: 'client',
    tools: [{ type: 'namespace', name: 'days', description: '', tools: [{ type: 'custom', name: 'day' }] }],
  },
];

const CALL_IDS = ['call_', 'c', '😀', 'toolu_01:a b/', 'x'.repeat(100)] as const;

/** Gives each call/output pair a unique id; parallel calls are ordered as one, other, other, one. */
const withCallIds = (blocks: readonly (readonly JsonObject[])[], style: string): readonly JsonObject[] =>
  blocks.flatMap((block, at) =>
    block.map((item, index) => {
      const { type } = item;
      const isPaired =
        typeof type === 'string' && /^(?:function_call|custom_tool_call|tool_search_)/.test(type);
      const pair = block.length === 2 ? 0 : [0, 1, 1, 0][index];
      return isPaired && block.length > 1 ? { ...item, call_id: `${style}${at}-${pair}` } : item;
    }),
  );

export const conversation: fc.Arbitrary<readonly JsonObject[]> = fc
  .tuple(
    fc.array(
      fc.oneof(
        { weight: 4, arbitrary: message.map((one) => [one]) },
        { weight: 2, arbitrary: reasoning.map((one) => [one]) },
        { weight: 2, arbitrary: calls },
        { weight: 1, arbitrary: carried.map((one) => [one]) },
        { weight: 1, arbitrary: fc.constant(SEARCHED) },
      ),
      { maxLength: 6 },
    ),
    fc.constantFrom(...CALL_IDS),
    someText.map((value) => ({ role: 'user', content: value })),
  )
  .map(([blocks, style, question]) => [...withCallIds(blocks, style), question]);
