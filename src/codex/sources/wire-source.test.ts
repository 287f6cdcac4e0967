import { describe, expect, it } from 'vitest';

import { fixedAmbient } from '../../../test/support/turn-events.ts';
import { failure, type Failure } from '../../canonical/failure.ts';
import { Accumulator, type Reply } from '../../canonical/accumulate.ts';
import type { TurnEvent } from '../../canonical/turn-event.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { KnownNotification } from '../protocol/methods.ts';
import type { Oddity, SourceSignal } from './source.ts';
import { WireSource, type WireSourceOptions } from './wire-source.ts';

const TURN = 'turn-1';

const start = (options: Partial<WireSourceOptions> = {}) => {
  const oddities: Oddity[] = [];
  const source = new WireSource({
    turnId: TURN,
    callable: new Set(['f']),
    parallelToolCalls: true,
    ambient: fixedAmbient(),
    onOddity: (oddity) => oddities.push(oddity),
    report: { signIn: null },
    ...options,
  });
  return { source, oddities };
};

const said = (type: string, data: JsonObject): SourceSignal => ({
  kind: 'answer-said',
  type: `response.${type}`,
  data: { type: `response.${type}`, ...data },
});
const BEGUN: SourceSignal = { kind: 'answer-started' };
const completed = (response: JsonObject = {}): SourceSignal => ({
  kind: 'answer-ended',
  how: 'completed',
  response: { id: 'resp_1', ...response },
});
const turnCompleted = (error: JsonObject | null = null): SourceSignal => ({
  kind: 'notified',
  notification: {
    method: 'turn/completed',
    params: { threadId: 't', turn: { id: TURN, status: error === null ? 'completed' : 'failed', error } },
  } as unknown as KnownNotification,
});
const added = (item: JsonObject, output_index = 0): SourceSignal =>
  said('output_item.added', { output_index, item });
const done = (item: JsonObject, output_index = 0): SourceSignal =>
  said('output_item.done', { output_index, item });
const message = (text: string, more: JsonObject = {}): JsonObject => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  content: text === '' ? [] : [{ type: 'output_text', text, annotations: [] }],
  ...more,
});
const call = (name: string, args: string, n = 1): JsonObject => ({
  type: 'function_call',
  id: `fc_${n}`,
  call_id: `call_${n}`,
  name,
  arguments: args,
});
const text = (delta: string, more: JsonObject = {}): SourceSignal =>
  said('output_text.delta', { item_id: 'msg_1', output_index: 0, content_index: 0, delta, ...more });

const eventsOf = (
  signals: readonly SourceSignal[],
  options: Partial<WireSourceOptions> = {},
): { events: TurnEvent[]; oddities: Oddity[]; ended: boolean } => {
  const { source, oddities } = start(options);
  const events = signals.flatMap((signal) => source.take(signal));
  return { events, oddities, ended: source.ended };
};
const replyOf = (signals: readonly SourceSignal[], options: Partial<WireSourceOptions> = {}): Reply => {
  const all = new Accumulator();
  for (const event of eventsOf(signals, options).events) all.add(event);
  return all.reply();
};
const textPart = (words: string, more: object = {}) => ({ kind: 'text', text: words, ...more });
const told = (words: string, more: object = {}) => ({
  kind: 'message',
  id: 'msg_1',
  role: 'assistant',
  parts: [textPart(words)],
  status: 'completed',
  ...more,
});

describe('the content of an answer', () => {
  it('is told as the backend says it, with its ids and log probabilities', () => {
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

  it('keeps what came with the deltas where the whole item does not repeat it', () => {
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

  it('has hosted calls with what they do, and items that nobody knows', () => {
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
      done({ ...code, code: '1+1' }, 1),
      done(odd, 2),
    ]);
    expect(events).toEqual([
      { type: 'item-started', item: { kind: 'hosted-call', id: 'ws_1', raw: search } },
      { type: 'item-status', itemId: 'ws_1', status: 'searching' },
      { type: 'item-ended', item: { kind: 'hosted-call', id: 'ws_1', raw: found } },
      { type: 'item-started', item: { kind: 'hosted-call', id: 'ci_1', raw: code } },
      { type: 'item-delta', itemId: 'ci_1', at: 'input', delta: '1+1' },
      { type: 'item-ended', item: { kind: 'hosted-call', id: 'ci_1', raw: { ...code, code: '1+1' } } },
      { type: 'item-started', item: { kind: 'opaque', id: 'mcpl_1', raw: odd } },
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
  ])('bears a backend of its own kind: %s', (_, signals, items) => {
    expect(replyOf([BEGUN, ...signals, completed(), turnCompleted()])).toMatchObject({
      items,
      outcome: { kind: 'completed' },
    });
  });

  it('is what was streamed where the whole item says something else', () => {
    const signals = [
      BEGUN,
      added(message('')),
      text('Yes'),
      done(message('No')),
      completed(),
      turnCompleted(),
    ];
    expect(replyOf(signals).items).toEqual([told('Yes')]);
    expect(eventsOf(signals).oddities).toEqual(['text-differs']);
  });

  it('has what stands only in the last event, behind the rest', () => {
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

describe('calls', () => {
  const args = (delta: string, n = 1): SourceSignal =>
    said('function_call_arguments.delta', { item_id: `fc_${n}`, output_index: n - 1, delta });

  it('are told while they are written, and end the turn with their answer', () => {
    const { events, ended } = eventsOf([
      BEGUN,
      added(call('f', '')),
      args('{"a"'),
      args(':1}'),
      done(call('f', '{"a":1}')),
      completed({ usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 } }),
    ]);
    const item = { kind: 'tool-call', id: 'fc_1', tool: 'function', callId: 'call_1', name: 'f', input: '' };
    const delta = { type: 'item-delta', itemId: 'fc_1', at: 'input' };
    expect(events).toMatchObject([
      { type: 'item-started', item },
      { ...delta, delta: '{"a"' },
      { ...delta, delta: ':1}' },
      { type: 'item-ended', item: { ...item, input: '{"a":1}', status: 'completed' } },
      { type: 'turn-ended', outcome: { kind: 'tool-calls' }, usage: { totalTokens: 3 } },
    ]);
    expect(ended).toBe(true);
  });

  it('have arguments that are JSON, and a name before they are told', () => {
    const nameless = { ...call('f', ''), name: '' };
    expect(
      replyOf([BEGUN, added(nameless), args('{'), done(call('f', '')), completed()]).items,
    ).toMatchObject([{ name: 'f', input: '{}', status: 'completed' }]);
  });

  it('come one at a time if the client wants that', () => {
    const two = [added(call('f', '')), added(call('f', '', 2), 1), args('{}'), args('{}', 2)];
    const { events, oddities } = eventsOf(
      [BEGUN, ...two, done(call('f', '{}')), done(call('f', '{}', 2), 1), completed()],
      { parallelToolCalls: false },
    );
    expect(events.filter(({ type }) => type === 'item-started')).toHaveLength(1);
    expect(oddities).toEqual(['second-call-dropped']);
  });

  it.each<[string, JsonObject]>([
    ['an undeclared function', call('g', '{}')],
    ['a custom tool', { type: 'custom_tool_call', id: 'ctc_1', call_id: 'c', name: 'f', input: 'x' }],
    ["codex's own shell", { type: 'local_shell_call', id: 'ls_1', call_id: 'c', action: {} }],
    ["codex's own search", { type: 'tool_search_call', id: 'ts_1', call_id: 'c', arguments: {} }],
  ])('of %s are not told, and the next answer is', (_, raw) => {
    const signals = [BEGUN, added(raw), done(raw), completed(), BEGUN, done(message('Then.')), completed()];
    const { events, oddities, ended } = eventsOf(signals);
    expect(events).toMatchObject([{ type: 'item-started' }, { type: 'item-delta' }, { type: 'item-ended' }]);
    expect([oddities, ended]).toEqual([['undeclared-call'], false]);
    expect(replyOf([...signals, turnCompleted()])).toMatchObject({ items: [told('Then.')] });
  });

  it('of undeclared tools come to an end', () => {
    const again = Array.from({ length: 17 }, () => [BEGUN, done(call('g', '{}')), completed()]).flat();
    expect(eventsOf(again).events).toMatchObject([
      { type: 'turn-ended', outcome: { kind: 'failed', failure: { kind: 'upstream_error' } } },
    ]);
  });

  it('beside undeclared ones are told and end the turn', () => {
    const reply = replyOf([BEGUN, done(call('g', '{}')), done(call('f', '{}', 2), 1), completed()]);
    expect(reply).toMatchObject({ items: [{ callId: 'call_2' }], outcome: { kind: 'tool-calls' } });
  });
});

describe('the end of a turn', () => {
  const half = [BEGUN, added(message('')), text('Half')];
  const cut: SourceSignal = { kind: 'answer-ended', how: 'cut' };
  const left: SourceSignal = { kind: 'answer-ended', how: 'left' };
  const refused = (failed: Failure): SourceSignal => ({ kind: 'refused', failure: failed });
  const failed = (kind: string) => ({ kind: 'failed', failure: { kind } });
  const incomplete = (reason: string): SourceSignal => ({
    kind: 'answer-ended',
    how: 'incomplete',
    response: { incomplete_details: { reason }, usage: { output_tokens: 7 } },
  });

  it.each<[string, readonly SourceSignal[], unknown]>([
    ['a cut', [cut], failed('upstream_error')],
    ['why it was cut', [refused(failure('rate_limit_exceeded')), cut], failed('rate_limit_exceeded')],
    [
      'why, though the app-server hung up',
      [refused(failure('rate_limit_exceeded')), left],
      failed('rate_limit_exceeded'),
    ],
    ['the reason to stop', [incomplete('content_filter')], { kind: 'incomplete', reason: 'content_filter' }],
    ['a reason that nobody knows', [incomplete('whim')], failed('upstream_error')],
    ['a worker that is gone', [left], null],
    [
      'codex, which goes on without a network',
      [
        {
          kind: 'notified',
          notification: {
            method: 'error',
            params: { turnId: TURN, willRetry: true, error: { message: 'x', codexErrorInfo: 'other' } },
          } as unknown as KnownNotification,
        },
      ],
      failed('upstream_error'),
    ],
  ])('in the middle of an answer tells %s', (_, signals, outcome) => {
    const { events, ended } = eventsOf([...half, ...signals]);
    expect(ended).toBe(outcome !== null);
    if (outcome === null) return;
    expect(events.slice(-2)).toMatchObject([
      { type: 'item-ended', item: { ...told('Half'), status: 'incomplete' } },
      { type: 'turn-ended', outcome },
    ]);
  });

  it('is the app-server’s to say where no call waits', () => {
    const whole = [BEGUN, done(message('All.')), completed({ usage: { total_tokens: 3 } })];
    expect(eventsOf(whole).ended).toBe(false);
    expect(replyOf([...whole, turnCompleted()])).toMatchObject({
      outcome: { kind: 'completed' },
      usage: { totalTokens: 3 },
    });
    expect(replyOf([...whole, ...whole, turnCompleted()])).toMatchObject({ usage: { totalTokens: 6 } });
    expect(replyOf([...whole, turnCompleted({ message: 'x', codexErrorInfo: 'other' })])).toMatchObject({
      outcome: failed('upstream_error'),
    });
  });

  it('is never completed without a completed answer', () => {
    const { events, oddities } = eventsOf([...half, turnCompleted()]);
    expect(events.at(-1)).toMatchObject({ outcome: failed('upstream_error') });
    expect(oddities).toEqual(['answer-unseen']);
  });

  it('has the backend’s words for what codex repeats', () => {
    const status = refused(failure('model_not_found'));
    const error = { message: 'unexpected status 404', codexErrorInfo: 'other' };
    expect(replyOf([status, turnCompleted(error)])).toMatchObject({ outcome: failed('model_not_found') });
    // A login was renewed, and the request sent once more.
    expect(replyOf([status, BEGUN, done(message('All.')), completed(), turnCompleted()])).toMatchObject({
      outcome: { kind: 'completed' },
    });
  });

  it('of an answer whose last event cannot be read needs what was streamed', () => {
    const unread: SourceSignal = { kind: 'answer-ended', how: 'completed', response: null };
    expect(replyOf([BEGUN, done(message('All.')), unread, turnCompleted()])).toMatchObject({
      items: [told('All.')],
      outcome: { kind: 'completed' },
      usage: null,
    });
    expect(replyOf([BEGUN, unread])).toMatchObject({ outcome: failed('upstream_error') });
    expect(replyOf([...half, unread])).toMatchObject({ outcome: failed('upstream_error') });
  });

  it('comes once', () => {
    const { source } = start();
    for (const signal of half) source.take(signal);
    expect(source.end({ kind: 'failed', failure: failure('worker_lost') })).toMatchObject([
      { type: 'item-ended' },
      { type: 'turn-ended', outcome: failed('worker_lost') },
    ]);
    expect([source.take(cut), source.end({ kind: 'completed' })]).toEqual([[], []]);
  });
});
