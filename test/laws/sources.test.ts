import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { ModelBudget } from '../../src/canonical/context/model-budget.ts';
import { failure } from '../../src/canonical/failure/failure.ts';
import type { KnownNotification } from '../../src/codex/protocol/methods.ts';
import { RpcSource } from '../../src/codex/sources/rpc-source.ts';
import type { SourceSignal, TurnSource } from '../../src/codex/sources/source.ts';
import { RelaySource } from '../../src/codex/sources/relay-source.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { checkGrammar } from '../support/grammar.ts';
import { fixedAmbient } from '../support/turn-events.ts';
import { CallableTools, type Tool } from '../../src/canonical/request/tool.ts';
import { functionTool } from '../support/turn-request.ts';

/** A source keeps the grammar for any upstream events, wherever they stop. */

const TURN = 'turn-1';
/** Few names, so that they collide: ids that are missing, duplicate, or of another kind. */
const id = fc.constantFrom('', 'a', 'b', 'c');
const index = fc.constantFrom<number | undefined>(0, 1, 2, 9_999_999, undefined);
const part = fc.constantFrom(0, 1, 2, -1, 5_000);
const words = fc.constantFrom('', 'x', 'xy', 'é');
const json = fc.constantFrom<JsonObject>({ token: 'x' }, { type: 'url_citation' });

const item = fc
  .record({
    type: fc.constantFrom(
      'message',
      'reasoning',
      'function_call',
      'custom_tool_call',
      'web_search_call',
      'code_interpreter_call',
      'shell_call',
      'mcp_list_tools',
      'compaction',
      'tool_search_call',
      'tool_search_output',
      'local_shell_call',
      'something_new',
    ),
    id,
    call_id: id,
    name: fc.constantFrom('f', 'g', ''),
    namespace: fc.constantFrom(undefined, 'functions', 'n'),
    execution: fc.constantFrom('client', 'server'),
    status: fc.constantFrom('in_progress', 'completed', 'incomplete'),
    text: words,
    refusal: fc.option(words),
    list: fc.array(json, { maxLength: 2 }),
    encrypted_content: fc.option(words),
  })
  .map(({ text, refusal, list, ...rest }) => ({
    ...rest,
    arguments: text,
    input: text,
    summary: text === '' ? [] : [{ type: 'summary_text', text }],
    content: [
      { type: rest.type === 'reasoning' ? 'reasoning_text' : 'output_text', text, annotations: list },
      ...(refusal === null ? [] : [{ type: 'refusal', refusal }]),
    ],
  }));

const event = fc
  .record({
    type: fc.constantFrom(
      'output_item.added',
      'output_item.added',
      'output_item.done',
      'output_text.delta',
      'output_text.annotation.added',
      'refusal.delta',
      'refusal.done',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_text.delta',
      'function_call_arguments.delta',
      'custom_tool_call_input.delta',
      'code_interpreter_call_code.delta',
      'web_search_call.searching',
      'shell_call_command.delta',
      'mcp_list_tools.in_progress',
      'image_generation_call.partial_image',
    ),
    item,
    item_id: id,
    output_index: index,
    summary_index: part,
    content_index: part,
    delta: words,
    refusal: words,
    logprobs: fc.array(json, { maxLength: 1 }),
    annotation: json,
  })
  .map(({ type, ...data }): SourceSignal => ({
    kind: 'answer-said',
    type: `response.${type}`,
    data: data as JsonObject,
  }));

const notified = (method: KnownNotification['method'], params: JsonObject): SourceSignal => ({
  kind: 'notified',
  notification: {
    method,
    params: { threadId: 't', turnId: TURN, ...params },
  } as unknown as KnownNotification,
});
const completed = notified('turn/completed', { turn: { id: TURN, status: 'completed', error: null } });
const broken = notified('turn/completed', {
  turn: { id: TURN, status: 'failed', error: { message: 'x', codexErrorInfo: 'other' } },
});

const wireSignal: fc.Arbitrary<SourceSignal> = fc.oneof(
  { arbitrary: event, weight: 20 },
  fc.constantFrom<SourceSignal>(
    { kind: 'answer-started' },
    { kind: 'refused', failure: failure('upstream_error') },
    { kind: 'answer-ended', how: 'cut' },
    { kind: 'answer-ended', how: 'left' },
    { kind: 'answer-ended', how: 'completed', response: null },
    completed,
    broken,
  ),
  fc.array(item, { maxLength: 3 }).map((output): SourceSignal => ({
    kind: 'answer-ended',
    how: 'completed',
    response: { output: output as unknown as JsonObject[] },
  })),
);

const notification: fc.Arbitrary<SourceSignal> = fc.oneof(
  fc
    .tuple(id, fc.constantFrom('agentMessage', 'reasoning', 'dynamicToolCall'))
    .map(([itemId, type]) => notified('item/started', { item: { type, id: itemId } })),
  fc.tuple(id, words).map(([itemId, delta]) => notified('item/agentMessage/delta', { itemId, delta })),
  fc
    .tuple(id, words, part)
    .map(([itemId, delta, summaryIndex]) =>
      notified('item/reasoning/summaryTextDelta', { itemId, delta, summaryIndex }),
    ),
  fc
    .tuple(id, words, part)
    .map(([itemId, delta, contentIndex]) =>
      notified('item/reasoning/textDelta', { itemId, delta, contentIndex }),
    ),
  item.map((whole) => notified('rawResponseItem/completed', { item: whole })),
  fc.constantFrom(notified('rawResponse/completed', { usage: null }), completed, broken),
);

const TOOLS: readonly Tool[] = [
  functionTool('f'),
  { kind: 'custom', name: 'g', description: null, format: null },
  {
    kind: 'namespace',
    name: 'n',
    raw: { type: 'namespace' },
    members: [
      { tool: 'function', name: 'g' },
      { tool: 'custom', name: 'f' },
    ],
  },
  { kind: 'hosted', raw: { type: 'tool_search', execution: 'client' } },
];
interface Declared {
  readonly tools: readonly Tool[];
  readonly parallelToolCalls: boolean;
}
const declared: fc.Arbitrary<Declared> = fc.record({
  tools: fc.subarray([...TOOLS]),
  parallelToolCalls: fc.boolean(),
});
const options = ({ tools, parallelToolCalls }: Declared) => ({
  turnId: TURN,
  callable: new CallableTools(tools),
  parallelToolCalls,
  findMcpTool: () => null,
  ambient: fixedAmbient(),
  onAnomaly() {},
});

const problems = (source: TurnSource, signals: readonly SourceSignal[]): readonly string[] =>
  checkGrammar([
    ...signals.flatMap((signal) => source.take(signal)),
    ...source.end({ kind: 'failed', failure: failure('worker_lost') }),
  ]);

describe('a source keeps the grammar', () => {
  it('for any relay events', () => {
    fc.assert(
      fc.property(declared, fc.array(wireSignal, { maxLength: 40 }), (given, signals) => {
        const source = new RelaySource({ ...options(given), report: { signIn: null } });
        expect(problems(source, signals)).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });

  it('for any app-server notifications', () => {
    fc.assert(
      fc.property(declared, fc.array(notification, { maxLength: 40 }), (given, signals) => {
        expect(problems(new RpcSource({ ...options(given), budget: new ModelBudget(3) }), signals)).toEqual(
          [],
        );
      }),
      { numRuns: 2_000 },
    );
  });
});
