import { describe, expect, it } from 'vitest';
import {
  added,
  BEGUN,
  call,
  completed,
  done,
  eventsOf,
  message,
  replyOf,
  said,
  text,
  textPart,
  told,
  turnCompleted,
} from '../../../test/support/upstream-events.ts';
import type { SourceSignal } from './source.ts';
describe('the content of an answer', () => {
  it('is emitted as the backend sends it, with its ids and log probabilities', () => {
    const logprobs = [{ token: 'Hel', logprob: -0.1 }];
    const annotation = { type: 'url_citation', url: 'https://example.com' };
    const whole = message('Hello', {
      phase: 'final_answer',
      content: [{ type: 'output_text', text: 'Hello', annotations: [annotation], logprobs }],
    });
    const { events } = eventsOf([
      BEGUN,
      added(message('', { phase: 'final_answer', status: 'in_progress' })),
      text('Hel', { logprobs }),
      text('lo', { logprobs: [] }),
      said('output_text.annotation.added', { item_id: 'msg_1', output_index: 0, annotation }),
      done(whole),
    ]);
    const delta = { type: 'item-delta', itemId: 'msg_1', at: 'text' };
    expect(events).toEqual([
      {
        type: 'item-started',
        item: { kind: 'message', id: 'msg_1', role: 'assistant', parts: [], phase: 'final_answer' },
      },
      { ...delta, delta: 'Hel', logprobs },
      { ...delta, delta: 'lo' },
      { ...delta, delta: '', annotation },
      {
        type: 'item-ended',
        item: {
          ...told('Hello', { phase: 'final_answer' }),
          parts: [textPart('Hello', { annotations: [annotation], logprobs })],
        },
      },
    ]);
  });

  it('keeps content of the deltas that the complete item does not repeat', () => {
    const logprobs = [{ token: 'Hi', logprob: -0.1 }];
    const { items } = replyOf([
      BEGUN,
      added(message('')),
      text('Hi', { logprobs }),
      done(message('Hi')),
      completed(),
      turnCompleted(),
    ]);
    expect(items).toEqual([told('Hi', { parts: [textPart('Hi', { logprobs })] })]);
  });

  it('has reasoning, part by part', () => {
    const raw = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'half' };
    const at = { item_id: 'rs_1', output_index: 0 };
    const { events } = eventsOf([
      BEGUN,
      added(raw),
      said('reasoning_summary_part.added', { ...at, summary_index: 0 }),
      said('reasoning_summary_text.delta', { ...at, summary_index: 0, delta: 'Hm.' }),
      said('reasoning_text.delta', { ...at, content_index: 0, delta: 'raw' }),
      done({
        ...raw,
        summary: [{ type: 'summary_text', text: 'Hm.' }],
        content: [{ type: 'reasoning_text', text: 'raw' }],
        encrypted_content: 'whole',
      }),
    ]);
    const delta = { type: 'item-delta', itemId: 'rs_1' };
    expect(events).toEqual([
      { type: 'item-started', item: { kind: 'reasoning', id: 'rs_1', summary: [] } },
      { ...delta, at: { list: 'summary', index: 0 }, delta: '' },
      { ...delta, at: { list: 'summary', index: 0 }, delta: 'Hm.' },
      { ...delta, at: { list: 'reasoning', index: 0 }, delta: 'raw' },
      {
        type: 'item-ended',
        item: {
          kind: 'reasoning',
          id: 'rs_1',
          summary: ['Hm.'],
          content: ['raw'],
          encryptedContent: 'whole',
          status: 'completed',
        },
      },
    ]);
  });

  it('has hosted calls with their progress, and unknown items', () => {
    const search = { type: 'web_search_call', id: 'ws_1', status: 'in_progress' };
    const found = { ...search, status: 'completed', action: { type: 'search', sources: [] } };
    const code = { type: 'code_interpreter_call', id: 'ci_1', code: '' };
    const odd = { type: 'mcp_list_tools', id: 'mcpl_1', tools: [] };
    const { events } = eventsOf([
      BEGUN,
      added(search),
      said('web_search_call.searching', { item_id: 'ws_1', output_index: 0 }),
      done(found),
      added(code, 1),
      said('code_interpreter_call_code.delta', { item_id: 'ci_1', output_index: 1, delta: '1+1' }),
      said('code_interpreter_call_code.done', { item_id: 'ci_1', output_index: 1, code: '1+1' }),
      said('web_search_call.completed', { item_id: 'ws_1', output_index: 0 }),
      said('tomorrow.done', { delta: 'about nothing that is open' }),
      done({ ...code, code: '1+1' }, 1),
      added(odd, 2),
      said('mcp_list_tools.in_progress', { output_index: 2, sequence_number: 9 }),
      said('mcp_list_tools.strange', { output_index: 2, type: 'x', strange: [1] }),
      done(odd, 2),
    ]);
    expect(events).toEqual([
      { type: 'item-started', item: { kind: 'hosted-call', id: 'ws_1', raw: search } },
      { type: 'item-status', itemId: 'ws_1', status: 'searching' },
      { type: 'item-ended', item: { kind: 'hosted-call', id: 'ws_1', raw: found } },
      { type: 'item-started', item: { kind: 'hosted-call', id: 'ci_1', raw: code } },
      { type: 'item-delta', itemId: 'ci_1', at: 'input', delta: '1+1' },
      {
        type: 'item-status',
        itemId: 'ci_1',
        status: 'done',
        of: 'code_interpreter_call_code',
        more: { code: '1+1' },
      },
      { type: 'item-ended', item: { kind: 'hosted-call', id: 'ci_1', raw: { ...code, code: '1+1' } } },
      { type: 'item-started', item: { kind: 'opaque', id: 'mcpl_1', raw: odd } },
      { type: 'item-status', itemId: 'mcpl_1', status: 'in_progress' },
      { type: 'item-status', itemId: 'mcpl_1', status: 'strange', more: { strange: [1] } },
      { type: 'item-ended', item: { kind: 'opaque', id: 'mcpl_1', raw: odd } },
    ]);
  });

  it.each<[string, readonly SourceSignal[], readonly unknown[]]>([
    ['only done', [done(message('All.'))], [told('All.')]],
    ['deltas that begin nothing', [text('All.')], [told('All.')]],
    [
      'deltas by another name',
      [added(message('')), text('All.', { item_id: 'x', output_index: 9 })],
      [told('All.')],
    ],
    [
      'an item that is called differently when it is done',
      [added(message('')), text('All.'), done(message('All.', { id: 'other' }))],
      [told('All.')],
    ],
    ['a rest that was not streamed', [added(message('')), text('A'), done(message('All.'))], [told('All.')]],
    [
      'refusals without deltas',
      [added(message('')), said('refusal.done', { item_id: 'msg_1', output_index: 0, refusal: 'No.' })],
      [told('', { parts: [{ kind: 'refusal', text: 'No.' }] })],
    ],
    [
      'two items of one id',
      [done(message('One.')), done(message('Two.'), 1)],
      [told('One.'), told('Two.', { id: 'msg_minted1' })],
    ],
    [
      'an item twice',
      [done(message('One.')), text('late'), said('output_item.added', { item: 7 })],
      [told('One.')],
    ],
  ])('tolerates nonconforming backends: %s', (_, signals, items) => {
    expect(replyOf([BEGUN, ...signals, completed(), turnCompleted()])).toMatchObject({
      items,
      outcome: { kind: 'completed' },
    });
  });

  it('is what was streamed if the complete item differs', () => {
    const signals = [
      BEGUN,
      added(message('')),
      text('Yes'),
      done(message('No')),
      completed(),
      turnCompleted(),
    ];
    expect(replyOf(signals).items).toEqual([told('Yes')]);
    expect(eventsOf(signals).anomalies).toEqual(['text-differs']);
  });

  it('ends with the items that only the last event contains', () => {
    const output = [message('Hello.'), call('f', '{"z":1}')];
    const late = { kind: 'tool-call', id: 'fc_1', callId: 'call_1', name: 'f', input: '{"z":1}' };
    expect(replyOf([BEGUN, completed({ output })])).toMatchObject({
      items: [told('Hello.'), late],
      outcome: { kind: 'tool-calls' },
    });
    expect(replyOf([BEGUN, added(message('')), text('Hel'), completed({ output })])).toMatchObject({
      items: [told('Hello.'), late],
    });
    expect(
      replyOf([BEGUN, done(message('Hello.')), done(call('f', '{"z":1}')), completed({ output })]),
    ).toMatchObject({
      items: [told('Hello.'), late],
    });
  });
});
