import { describe, expect, it } from 'vitest';

import type { JsonObject, Json } from '../../../kit/json/json.ts';
import type { UpstreamEvent } from '../../sources/source.ts';
import { TurnAnswers, OwnItems } from './turn-answers.ts';

describe('items that codex drops from an answer', () => {
  type Item = JsonObject & { readonly type: string };

  const message: Item = { type: 'message', id: 'msg_1', content: [] };
  const call: Item = { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'f', arguments: '{}' };
  const output: Item = { type: 'function_call_output', call_id: 'c', output: 'x' };
  const files: Item = { type: 'file_search_call', id: 'fs_1', queries: [] };
  const search: Item = { type: 'web_search_call', id: 'ws_1', action: { sources: [] } };
  const listed: Item = { type: 'mcp_list_tools', id: 'mcpl_1', tools: [] };
  const shell: Item = { type: 'shell_call', id: 'sh_1', call_id: 's' };
  const ran: Item = { type: 'shell_call_output', call_id: 's', output: [] };

  const BEGUN: UpstreamEvent = { kind: 'answer-started' };
  const COMPLETED: UpstreamEvent = { kind: 'answer-ended', how: 'completed', response: null };
  const answer = (...items: readonly Item[]): readonly UpstreamEvent[] => [
    BEGUN,
    ...items.map((item): UpstreamEvent => ({
      kind: 'answer-said',
      type: 'response.output_item.done',
      data: { item },
    })),
    COMPLETED,
  ];
  const after = (...signals: readonly UpstreamEvent[]): TurnAnswers => {
    const answers = new TurnAnswers();
    for (const signal of signals) answers.see(signal);
    return answers;
  };
  /** What codex makes of an item that it knows. */
  const codexs = (item: Item): Item => ({ type: item.type, mine: true });

  it('are restored at their position', () => {
    const answers = after(...answer(listed, message, files, search, call));
    expect(answers.restoreInto([codexs(message), codexs(search), codexs(call), output])).toEqual([
      listed,
      codexs(message),
      files,
      search,
      codexs(call),
      output,
    ]);
  });

  it('are restored even from an answer interrupted by steering', () => {
    const left: UpstreamEvent = { kind: 'answer-ended', how: 'left' };
    const said = { type: 'message', role: 'user' };
    const answers = after(...answer(files, message).slice(0, -1), left);
    expect(answers.restoreInto([codexs(message), said])).toEqual([files, codexs(message), said]);
  });

  it('of several answers follow the outputs in between', () => {
    const answers = after(...answer(call, files), ...answer(listed, call, message), ...answer(search));
    const behind = [call, output, output, call, message, output, search].map(codexs);
    expect(answers.restoreInto(behind)).toEqual([
      codexs(call),
      files,
      codexs(output),
      codexs(output),
      listed,
      codexs(call),
      codexs(message),
      codexs(output),
      search,
    ]);
  });

  it('are not restored if they wait for an answer that was not given', () => {
    expect(after(...answer(shell, listed)).restoreInto([])).toEqual([listed]);
    expect(after(...answer(shell, ran)).restoreInto([])).toEqual([shell, ran]);
  });

  it('may be only in the last event, and count only if the answer does', () => {
    const whole: UpstreamEvent = { kind: 'answer-ended', how: 'completed', response: { output: [files] } };
    expect(after(BEGUN, whole).restoreInto([])).toEqual([files]);
    const cut: UpstreamEvent = { kind: 'answer-ended', how: 'cut' };
    expect(after(...answer(files).slice(0, 2), cut, ...answer(listed)).restoreInto([])).toEqual([listed]);
    const behind = [call];
    expect(after(...answer(message)).restoreInto(behind)).toBe(behind);
  });
});

describe('OwnItems', () => {
  const text = (words: string): JsonObject => ({ type: 'output_text', text: words });
  const answer: JsonObject = {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    content: [text('Hi'), text('!')],
  };
  const call: JsonObject = {
    type: 'function_call',
    id: 'fc_1',
    call_id: 'call_1',
    name: 'f',
    arguments: '{}',
  };
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
});
