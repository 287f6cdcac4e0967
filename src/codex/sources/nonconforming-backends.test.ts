import { describe, expect, it } from 'vitest';

import { fixedAmbient } from '../../../test/support/turn-events.ts';
import { Accumulator, type Reply } from '../../canonical/events/accumulate.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import type { Anomaly, SourceSignal } from './source.ts';
import { RelaySource } from './relay-source.ts';
import { BEGUN, turnCompleted } from '../../../test/support/upstream-events.ts';
import { functionTool } from '../../../test/support/turn-request.ts';
import { CallableTools } from '../../canonical/request/tool.ts';

const sourceOf = (onAnomaly: (anomaly: Anomaly) => void): RelaySource =>
  new RelaySource({
    turnId: 'turn-1',
    callable: new CallableTools([functionTool('f')]),
    parallelToolCalls: true,
    findMcpTool: () => null,
    ambient: fixedAmbient(),
    onAnomaly,
    report: { signIn: null },
  });

/** The client's reply for an answer that its backend formatted in its own way. */
const replyOf = (...signals: readonly SourceSignal[]): Reply => {
  const source = sourceOf(() => {});
  const all = new Accumulator();
  for (const signal of [BEGUN, ...signals]) for (const event of source.take(signal)) all.add(event);
  for (const event of source.end({ kind: 'completed' })) all.add(event);
  return all.reply();
};

const said = (type: string, data: JsonObject): SourceSignal => ({
  kind: 'answer-said',
  type: `response.${type}`,
  data,
});
const added = (item: JsonObject): SourceSignal => said('output_item.added', { item });
const done = (item: JsonObject): SourceSignal => said('output_item.done', { item });
const ended = (how: 'completed' | 'incomplete', response: JsonObject = {}): SourceSignal => ({
  kind: 'answer-ended',
  how,
  response: { id: 'resp_1', ...response },
});
const message = (text: string, more: JsonObject = {}): JsonObject => ({
  type: 'message',
  role: 'assistant',
  content: text === '' ? [] : [{ type: 'output_text', text, ...more }],
});
const call = (callId: string, args: string): JsonObject => ({
  type: 'function_call',
  call_id: callId,
  name: 'f',
  arguments: args,
});
const texts = ({ items }: Reply): readonly unknown[] =>
  items.map((item) => (item.kind === 'message' ? item.parts : item.kind));

it('does not add the arguments of a call without an id to the call before it', () => {
  const reply = replyOf(
    said('output_item.added', { output_index: 0, item: { ...call('call_1', ''), id: 'fc_1' } }),
    said('output_item.added', { output_index: 1, item: { type: 'function_call', id: 'fc_2', name: 'f' } }),
    said('function_call_arguments.delta', { item_id: 'fc_2', output_index: 1, delta: '{"n":2}' }),
    said('function_call_arguments.delta', { item_id: 'fc_1', output_index: 0, delta: '{"n":1}' }),
    said('output_item.done', { output_index: 0, item: { ...call('call_1', '{"n":1}'), id: 'fc_1' } }),
    said('output_item.done', { output_index: 1, item: { ...call('call_2', '{"n":2}'), id: 'fc_2' } }),
    ended('completed'),
  );
  expect(reply.items).toMatchObject([
    { callId: 'call_1', input: '{"n":1}' },
    { callId: 'call_2', input: '{"n":2}' },
  ]);
});

it('assigns an id to a call with an empty one', () => {
  const reply = replyOf(done(call('', '{}')), ended('completed'));
  expect(reply.items).toMatchObject([
    { kind: 'tool-call', name: 'f', callId: expect.stringMatching(/^call_/) },
  ]);
});

describe('an item that cannot be read', () => {
  const nameless = { type: 'function_call', call_id: 'call_1', arguments: '{}' };
  const typeless = { id: 'item_1', content: 'something' };

  it.each([
    ['a tool call without a name', nameless],
    ['an output item without a type', typeless],
  ])('fails an answer without other items: %s', (what, item) => {
    expect(replyOf(done(item), ended('completed'), turnCompleted())).toMatchObject({
      items: [],
      outcome: {
        kind: 'failed',
        failure: { kind: 'upstream_error', message: `The upstream sent ${what}, and nothing else.` },
      },
    });
  });

  it('is left out of an answer with other items', () => {
    const reply = replyOf(done(nameless), done(message('Hello')), ended('completed'), turnCompleted());
    expect([texts(reply), reply.outcome]).toEqual([
      [[{ kind: 'text', text: 'Hello' }]],
      { kind: 'completed' },
    ]);
  });

  it.each([
    [nameless, 'item-without-name'],
    [typeless, 'item-without-type'],
  ])('is reported once', (item, anomaly) => {
    const reported: string[] = [];
    const source = sourceOf((one) => reported.push(one));
    for (const signal of [BEGUN, added(item), done(item), ended('completed')]) source.take(signal);
    expect(reported).toEqual([anomaly]);
  });
});

describe('an item without an id and an index', () => {
  it('ends when it is complete', () => {
    const reply = replyOf(
      added(message('')),
      said('output_text.delta', { delta: 'Hel' }),
      done(message('Hello')),
      added(message('')),
      done(message('Bye')),
      ended('completed'),
    );
    expect(texts(reply)).toEqual([[{ kind: 'text', text: 'Hello' }], [{ kind: 'text', text: 'Bye' }]]);
  });

  it('is matched to the call that it answers', () => {
    const reply = replyOf(
      added(call('call_1', '')),
      added(call('call_2', '')),
      done(call('call_1', '{"n":1}')),
      done(call('call_2', '{"n":2}')),
      ended('completed'),
    );
    expect(reply.items).toMatchObject([
      { callId: 'call_1', input: '{"n":1}' },
      { callId: 'call_2', input: '{"n":2}' },
    ]);
    expect(reply.items).toHaveLength(2);
  });
});

it('has every citation once, even one that precedes the text', () => {
  const [a, b] = [{ url: 'a' }, { url: 'b' }];
  const reply = replyOf(
    added(message('')),
    said('output_text.annotation.added', { annotation: a }),
    said('output_text.delta', { delta: 'Yes' }),
    said('output_text.annotation.added', { annotation: b }),
    done(message('Yes', { annotations: [a, b] })),
    ended('completed'),
  );
  expect(texts(reply)).toEqual([[{ kind: 'text', text: 'Yes', annotations: [a, b] }]]);
});

it('handles early citations in linear time', () => {
  const citations = Array.from({ length: 50_000 }, (_, index) => ({ url: String(index) }));
  const reply = replyOf(
    added(message('')),
    ...citations.map((annotation) => said('output_text.annotation.added', { annotation })),
    said('output_text.delta', { delta: 'Yes' }),
    ended('completed'),
  );
  expect(texts(reply)).toEqual([[{ kind: 'text', text: 'Yes', annotations: citations }]]);
});

it('includes output that only the last event of an incomplete answer contains', () => {
  const reply = replyOf(
    ended('incomplete', {
      incomplete_details: { reason: 'max_output_tokens' },
      output: [{ ...message('so f'), status: 'incomplete' }],
    }),
  );
  expect(reply).toMatchObject({
    items: [{ status: 'incomplete', parts: [{ text: 'so f' }] }],
    outcome: { kind: 'incomplete', reason: 'max_output_tokens' },
  });
});
