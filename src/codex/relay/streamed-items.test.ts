import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../kit/json.ts';
import { refusalIn, StreamedItems, toWholeItem } from './streamed-items.ts';

const A = { type: 'message', id: 'msg_a' };
const B = { type: 'function_call', id: 'fc_b', call_id: 'call_b' };
const C = { type: 'message', id: 'msg_c' };

const missing = (done: readonly (JsonObject | null)[], output: readonly JsonObject[]) => {
  const streamed = new StreamedItems();
  for (const event of done) streamed.done(event);
  return streamed.missingIn(output);
};

describe('what was not streamed', () => {
  it.each<[string, (JsonObject | null)[], JsonObject[]]>([
    ['all of it', [], [A, B, C]],
    ['what stands in another place, by its id', [{ output_index: 0, item: A }], [B, C]],
    ['by the id alone', [{ item: B }], [A, C]],
    ['by the call alone', [{ item: { type: 'function_call', call_id: 'call_b' } }], [A, C]],
    ['by the place alone: ids may be others at the end', [{ output_index: 1, item: { id: 'x' } }], [A, C]],
    ['nothing, where as many were streamed', [1, 2, 3].map((id) => ({ item: { id: `other_${id}` } })), []],
    ['nothing, where one was too long to be read', [null], []],
    ['nothing, where one is no item', [{ item: 7 }], []],
  ])('%s', (_, done, expected) => {
    expect(missing(done, [A, B, C])).toEqual(expected);
  });

  it('is nothing of an output that is none', () => {
    const streamed = new StreamedItems();
    expect([undefined, null, {}, 'x', [null, 7]].map((output) => streamed.missingIn(output))).toEqual([
      [],
      [],
      [],
      [],
      [],
    ]);
  });
});

describe('an item as the app-server would have told it', () => {
  it('a message', () => {
    const text = { type: 'output_text', text: 'a', annotations: [{ type: 'x' }] };
    const item = { ...A, status: 'completed', phase: 'commentary', content: [text, { type: 'odd' }, null] };
    expect(toWholeItem(item)).toEqual({
      type: 'message',
      id: 'msg_a',
      status: 'completed',
      phase: 'commentary',
      role: 'assistant',
      content: [{ ...text, logprobs: [] }],
    });
    expect(toWholeItem({ type: 'message', content: 7, phase: 'odd' })).toEqual({
      type: 'message',
      role: 'assistant',
      content: [],
    });
  });

  it('reasoning', () => {
    const summary = [{ type: 'summary_text', text: 's' }];
    const content = [{ type: 'reasoning_text', text: 'r' }];
    expect(toWholeItem({ type: 'reasoning', id: 'rs', summary, content, encrypted_content: 'e' })).toEqual({
      type: 'reasoning',
      id: 'rs',
      summary,
      content,
      encrypted_content: 'e',
    });
    expect(toWholeItem({ type: 'reasoning' })).toEqual({
      type: 'reasoning',
      summary: [],
      content: [],
      encrypted_content: null,
    });
  });

  it('a call, which must have a name', () => {
    expect(toWholeItem({ ...B, name: 'f', arguments: '{}' })).toEqual({ ...B, name: 'f', arguments: '{}' });
    expect(toWholeItem({ ...B, name: 'f' })).toEqual({ ...B, name: 'f', arguments: '' });
    expect([toWholeItem(B), toWholeItem({ type: 'function_call', name: 'f' })]).toEqual([null, null]);
  });

  it('is nothing else', () => {
    expect([{ type: 'file_search_call' }, { type: 7 }, {}].map(toWholeItem)).toEqual([null, null, null]);
  });

  it('may be a refusal', () => {
    const content = [{ type: 'refusal', refusal: 'N' }, { type: 'refusal', refusal: 'o.' }, { type: 'x' }];
    expect(
      [
        { ...A, content },
        { ...A, content: [] },
        { type: 'x', content },
      ].map(refusalIn),
    ).toEqual(['No.', null, null]);
  });
});
