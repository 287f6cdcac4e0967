import { describe, expect, it } from 'vitest';

import type { Json, JsonObject } from '../../../kit/json/json.ts';
import type { UpstreamEvent } from '../../sources/upstream-event.ts';
import { OwnItems } from './own-items.ts';

const text = (words: string): JsonObject => ({ type: 'output_text', text: words });
const answer: JsonObject = {
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  content: [text('Hi'), text('!')],
};
const call: JsonObject = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{}' };
const reasoning: JsonObject = { type: 'reasoning', id: 'rs_1', summary: [] };

const done = (item: Json): UpstreamEvent => ({
  kind: 'answer-said',
  type: 'response.output_item.done',
  data: { item },
});
const completed = (response: JsonObject | null): UpstreamEvent => ({
  kind: 'answer-ended',
  how: 'completed',
  response,
});
const after = (...signals: readonly UpstreamEvent[]): OwnItems => {
  const own = new OwnItems();
  for (const signal of signals) own.see(signal);
  return own;
};
const user = (...texts: readonly string[]): JsonObject => ({
  type: 'message',
  role: 'user',
  content: texts.map((words) => ({ type: 'input_text', text: words })),
});

describe("the model's own items", () => {
  const own = after(done(answer), done(call), done(reasoning));

  it.each<[string, Json]>([
    ['as it wrote them', answer],
    ['a call', call],
    ['with another content', { ...answer, content: [text('Ho')] }],
    ['a call without its id', { type: 'function_call', call_id: 'call_1' }],
    ['a text without its id', { type: 'message', role: 'assistant', content: [text('Hi')] }],
    ['a text with a new id', { ...answer, id: 'msg_9' }],
    ['reasoning with a new id', { ...reasoning, id: 'rs_9' }],
    ['reasoning without its id', { type: 'reasoning', summary: [] }],
    ['the output of a call', { type: 'function_call_output', id: 'fco_9', call_id: 'call_1', output: 'x' }],
  ])('belong to the turn: %s', (_, item) => {
    expect(own.has(item)).toBe(true);
  });

  it.each<[string, Json]>([
    ['no item', 'Hi'],
    ['null', null],
    ['a list', [answer]],
    ['another text', { type: 'message', role: 'assistant', content: [text('Hi'), text('?')] }],
    ['another text with a new id', { type: 'message', id: 'msg_9', content: [text('?')] }],
    ['its text as the user', user('Hi')],
    ['its text next to an image', { type: 'message', content: [text('Hi'), { type: 'input_image' }] }],
    ['its text next to no part', { type: 'message', content: [text('Hi'), 'Hi'] }],
    ['a call of another turn', { ...call, call_id: 'call_9' }],
    ['an output of another turn', { type: 'function_call_output', call_id: 'call_9', output: 'x' }],
    ['a type that it did not write', { type: 'compaction', id: 'cmp_1' }],
    ['an item without a type', {}],
    ['a message whose content is a text', { type: 'message', role: 'developer', content: 'Hi' }],
    ['a message without parts', { type: 'message', role: 'assistant', content: [] }],
    ['a message without content', { type: 'message', role: 'assistant' }],
  ])('are not all that there is: %s', (_, item) => {
    expect(own.has(item)).toBe(false);
  });
});

describe('own items', () => {
  it('are those of every answer, also from its last event', () => {
    const own = after(
      done(reasoning),
      completed(null),
      { kind: 'answer-started' },
      completed({ id: 'resp_1', output: [answer, 'no item', call] }),
    );
    expect([reasoning, answer, call].map((item) => own.has(item))).toEqual([true, true, true]);
  });

  it.each<[string, UpstreamEvent]>([
    ['a started one', { kind: 'answer-said', type: 'response.output_item.added', data: { item: call } }],
    ['none in the event', { kind: 'answer-said', type: 'response.output_item.done', data: {} }],
    ['no item in the event', done('text')],
    ['an incomplete answer', { kind: 'answer-ended', how: 'incomplete', response: { output: [call] } }],
    ['one that was cut', { kind: 'answer-ended', how: 'cut' }],
    ['an answer without output', completed({ output: 'x' })],
    ['an answer too long to read', completed(null)],
  ])('come from complete items only: %s', (_, signal) => {
    const own = after(signal);
    expect([call, answer, reasoning].map((item) => own.has(item))).toEqual([false, false, false]);
  });

  it('need no id: a call is known by its call id, a text by its words', () => {
    const { id: _, ...unnamed } = call;
    const own = after(done(unnamed), done({ type: 'message', content: [text('Hi')] }));
    expect(own.has(call)).toBe(true);
    expect(own.has({ type: 'message', id: 'msg_9', role: 'assistant', content: [text('Hi')] })).toBe(true);
    expect(own.has({ type: 'message', id: '', role: 'assistant', content: [text('Ho')] })).toBe(false);
  });
});
