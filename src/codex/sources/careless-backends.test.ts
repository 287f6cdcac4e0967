import { describe, expect, it } from 'vitest';

import { fixedAmbient } from '../../../test/support/turn-events.ts';
import { Accumulator, type Reply } from '../../canonical/accumulate.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { SourceSignal } from './source.ts';
import { WireSource } from './wire-source.ts';
import { functionTool } from '../../../test/support/turn-request.ts';
import { CallableTools } from '../../canonical/tool.ts';

/** What a client gets of an answer that its backend wrote down in a way of its own. */
const replyOf = (...signals: readonly SourceSignal[]): Reply => {
  const source = new WireSource({
    turnId: 'turn-1',
    callable: new CallableTools([functionTool('f')]),
    parallelToolCalls: true,
    findMcpTool: () => null,
    ambient: fixedAmbient(),
    onOddity() {},
    report: { signIn: null },
  });
  const all = new Accumulator();
  for (const signal of [{ kind: 'answer-started' } as const, ...signals])
    for (const event of source.take(signal)) all.add(event);
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

describe('an item without an id and an index', () => {
  it('ends where it is whole', () => {
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

  it('is the call that it is the answer to', () => {
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

it('has every citation once, also one that comes in front of the text', () => {
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

it('does not go through all citations for each one in front of the text', () => {
  const citations = Array.from({ length: 50_000 }, (_, index) => ({ url: String(index) }));
  const reply = replyOf(
    added(message('')),
    ...citations.map((annotation) => said('output_text.annotation.added', { annotation })),
    said('output_text.delta', { delta: 'Yes' }),
    ended('completed'),
  );
  expect(texts(reply)).toEqual([[{ kind: 'text', text: 'Yes', annotations: citations }]]);
});

it('has the output that stands only in the last event of an incomplete answer', () => {
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
