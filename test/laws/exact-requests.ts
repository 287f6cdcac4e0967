import * as fc from 'fast-check';

import type { Json, JsonObject } from '../../src/kit/json/json.ts';
import { conversation, maybe, merged, shortText, someText, text } from './exact-items.ts';

/** Responses requests that a client could send: a conversation, tools, and settings of every kind. */

/** Two models that codex lists, of its older and its newest kind, and one unknown model. */
const MODELS = ['gpt-5.5', 'gpt-6.1-sol', 'someone-elses-model'] as const;

/** Keywords that the app-server drops or interprets, and keys that break naive code. */
const schema: fc.Arbitrary<JsonObject> = fc
  .record(
    {
      properties: fc.dictionary(
        fc.constantFrom('city', 'b', '1', '', '__proto__', 'constructor', '$ref'),
        fc.constantFrom<Json[]>(
          true,
          { type: 'string', pattern: '^[A-Z]+$', minLength: 1, format: 'date-time' },
          { type: ['integer', 'null'], minimum: 1, exclusiveMaximum: 1.5e300, multipleOf: 2 },
          { anyOf: [{ type: 'string' }, { const: null }], default: null, title: 'T', 'x-odd': { '': [[]] } },
          { type: 'array', items: { enum: [1, 'a', null] }, uniqueItems: true },
        ),
        { maxKeys: 3, noNullPrototype: true },
      ),
      additionalProperties: fc.boolean(),
      description: text,
    },
    { requiredKeys: ['properties'] },
  )
  .map((members) => ({ type: 'object', ...members }));

/** Grammars are passed through; their validity is not tested here. */
const grammar: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json>({ type: 'text' }, null),
  fc.tuple(fc.constantFrom('lark', 'regex'), text).map(([syntax, definition]) => ({
    type: 'grammar',
    syntax,
    definition,
  })),
);
const tool = (name: string): fc.Arbitrary<JsonObject> => {
  const type = typeOf(name);
  return merged(
    fc.constant({ type, name }),
    maybe('description', fc.option(text)),
    ...(type === 'function'
      ? [maybe('parameters', fc.option(schema)), maybe('strict', fc.option(fc.boolean()))]
      : [maybe('format', grammar)]),
    maybe('defer_loading', fc.option(fc.boolean())),
    maybe('allowed_callers', fc.constantFrom<Json>(['direct'], { odd: [null] })),
  );
};
const NAMES = ['get_weather', 'b', 'a-b_C9', 'exec', 'shell', 'z'.repeat(64)] as const;
/** Tools that every backend runs. */
const HOSTED: readonly JsonObject[] = [
  {
    type: 'web_search_preview_2025_03_11',
    search_context_size: 'low',
    user_location: { type: 'approximate', city: null },
  },
  { type: 'image_generation', partial_images: 2, 'x-odd': [null] },
];
const typeOf = (name: string): 'function' | 'custom' => (/^(?:b|exec)$/.test(name) ? 'custom' : 'function');
const byName = (name: string): JsonObject => ({ type: typeOf(name), name });

/** Fields that are read but not changed. */
const carriedTools: fc.Arbitrary<readonly JsonObject[]> = fc.subarray<JsonObject>([
  {
    type: 'namespace',
    name: 'days',
    description: '',
    tools: [
      { type: 'function', name: 'b', parameters: { type: 'object', 'x-odd': [] }, defer_loading: true },
      { type: 'custom', name: 'c' },
    ],
  },
  { type: 'tool_search', execution: 'client', description: 'd', parameters: { type: 'object' } },
]);

const tooling: fc.Arbitrary<JsonObject> = fc.subarray([...NAMES]).chain((names) =>
  merged(
    names.length === 0
      ? maybe('tools', fc.constantFrom<Json>([], null))
      : fc
          .tuple(fc.tuple(...names.map(tool)), carriedTools, fc.subarray([...HOSTED]))
          .map(([tools, carried, hosted]) => ({ tools: [...tools, ...carried, ...hosted] })),
    maybe(
      'tool_choice',
      names.length === 0
        ? fc.constantFrom<Json>('auto', 'none', null)
        : fc.oneof(
            fc.constantFrom<Json>('auto', 'none', 'required', null),
            fc.constantFrom(...names).map(byName),
            fc
              .tuple(fc.constantFrom('auto', 'required'), fc.subarray(names, { minLength: 1 }))
              .map(([mode, allowed]) => ({ type: 'allowed_tools', mode, tools: allowed.map(byName) })),
          ),
    ),
    maybe('parallel_tool_calls', fc.option(fc.boolean())),
  ),
);

const format: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json>(null, { type: 'text' }, { type: 'json_object' }),
  merged(
    schema.map((value) => ({ type: 'json_schema', name: 'answer', schema: value })),
    maybe('description', fc.option(text)),
    maybe('strict', fc.option(fc.boolean())),
  ),
);

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra', null] as const;
const SUMMARIES = ['auto', 'concise', 'detailed', null] as const;
const INCLUDES = [
  'reasoning.encrypted_content',
  'message.output_text.logprobs',
  'file_search_call.results',
] as const;
const number = (min: number, max: number): fc.Arbitrary<number | null> =>
  fc.option(fc.double({ min, max, noNaN: true }).map((value) => (Object.is(value, -0) ? 0 : value)));

const settings: fc.Arbitrary<JsonObject> = merged(
  maybe('instructions', fc.option(text)),
  maybe('stream', fc.option(fc.boolean())),
  maybe('store', fc.option(fc.boolean())),
  maybe('temperature', number(0, 2)),
  maybe('top_p', number(0, 1)),
  maybe('presence_penalty', number(-2, 2)),
  maybe('frequency_penalty', number(-2, 2)),
  maybe('top_logprobs', fc.option(fc.integer({ min: 0, max: 20 }))),
  maybe('max_output_tokens', fc.option(fc.integer({ min: 16, max: 100_000 }))),
  maybe('max_tool_calls', fc.option(fc.integer({ min: 1, max: 9 }))),
  maybe('truncation', fc.constantFrom('auto', 'disabled', null)),
  maybe('service_tier', fc.constantFrom('auto', 'default', 'flex', 'scale', 'priority', 'fast', null)),
  maybe(
    'metadata',
    fc.option(fc.dictionary(fc.constantFrom('a', '', 'constructor'), shortText, { noNullPrototype: true })),
  ),
  maybe(
    'client_metadata',
    fc.constantFrom<Json>({ turn_id: 't', 'x-codex-window-id': 'w:0', deep: [null] }, {}, null),
  ),
  maybe('user', fc.option(shortText)),
  maybe('safety_identifier', fc.option(shortText)),
  maybe('prompt_cache_key', fc.option(fc.oneof(someText, fc.constant('k'.repeat(65))))),
  maybe('prompt_cache_retention', fc.constantFrom('in_memory', '24h', null)),
  maybe('prompt_cache_options', fc.constantFrom<Json>({ ttl: '1h', more: { deep: [null] } }, null)),
  maybe('access_programs', fc.constantFrom<Json>({ cyber: 'standard' }, null)),
  maybe('image', fc.constantFrom<Json>({ context_compression: 'auto', more: [null] }, null)),
  maybe('include', fc.option(fc.subarray([...INCLUDES]))),
  maybe(
    'reasoning',
    fc.option(
      merged(
        maybe('effort', fc.constantFrom(...EFFORTS)),
        fc.oneof(
          maybe('summary', fc.constantFrom(...SUMMARIES)),
          maybe('generate_summary', fc.constantFrom(...SUMMARIES)),
        ),
        maybe('context', fc.constantFrom('auto', 'current_turn', 'all_turns', null)),
        maybe('mode', fc.constantFrom('pro', null)),
      ),
    ),
  ),
  maybe(
    'text',
    fc.option(
      merged(maybe('format', format), maybe('verbosity', fc.constantFrom('low', 'medium', 'high', null))),
    ),
  ),
);

export const exactRequest: fc.Arbitrary<JsonObject> = merged(
  fc.constantFrom(...MODELS).map((model) => ({ model })),
  fc.oneof(
    { weight: 5, arbitrary: conversation.map((input) => ({ input })) },
    { weight: 1, arbitrary: someText.map((input) => ({ input })) },
  ),
  settings,
  tooling,
  maybe(
    'context_management',
    fc.constantFrom<Json>(
      [{ type: 'compaction', compact_threshold: 200_000, more: { deep: [null] } }],
      [],
      null,
    ),
  ),
);
