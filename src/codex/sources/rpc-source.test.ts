import { describe, expect, it } from 'vitest';

import { fixedAmbient } from '../../../test/support/turn-events.ts';
import { failure } from '../../canonical/failure.ts';
import { itemIdOf, type TurnEvent } from '../../canonical/turn-event.ts';
import type { KnownNotification } from '../protocol/methods.ts';
import { RpcSource } from './rpc-source.ts';
import type { Oddity, SourceOptions } from './source.ts';

/** Whole turns as the real binary tells them stand in test/scenarios; here are the odd corners. */

const TURN = 'turn-1';
const note = (method: KnownNotification['method'], params: Record<string, unknown>): KnownNotification =>
  ({ method, params: { threadId: 't', turnId: TURN, ...params } }) as unknown as KnownNotification;

const started = (type: 'agentMessage' | 'reasoning', id: string, phase: string | null = null) =>
  note('item/started', { item: { type, id, phase } });
const text = (itemId: string, delta: string) => note('item/agentMessage/delta', { itemId, delta });
const raw = (item: Record<string, unknown>) => note('rawResponseItem/completed', { item });
const rawMessage = (id: string | undefined, value: string, different: Record<string, unknown> = {}) =>
  raw({
    type: 'message',
    role: 'assistant',
    id,
    content: [{ type: 'output_text', text: value }],
    ...different,
  });
const rawCall = (id: string, name: string, args = '{}') =>
  raw({ type: 'function_call', id, call_id: `call_${id}`, name, arguments: args });
const USAGE = {
  inputTokens: 10,
  cachedInputTokens: 4,
  cacheWriteInputTokens: 1,
  outputTokens: 5,
  reasoningOutputTokens: 2,
  totalTokens: 15,
};
const rawDone = (usage: unknown = USAGE) => note('rawResponse/completed', { responseId: 'r', usage });
const completed = (status = 'completed', error: unknown = null) =>
  note('turn/completed', { turn: { id: TURN, status, error } });

const start = (different: Partial<SourceOptions> = {}) => {
  const oddities: Oddity[] = [];
  const one = new RpcSource({
    turnId: TURN,
    callable: new Set(['f', 'g']),
    parallelToolCalls: true,
    ambient: fixedAmbient(),
    onOddity: (oddity) => oddities.push(oddity),
    ...different,
  });
  const run = (...notifications: readonly KnownNotification[]): TurnEvent[] =>
    notifications.flatMap((notification) => one.take({ kind: 'notified', notification }));
  return { one, run, oddities };
};

const messageEnded = (itemId: string, value: string, different: Record<string, unknown> = {}) => ({
  type: 'item-ended',
  item: {
    kind: 'message',
    id: itemId,
    role: 'assistant',
    parts: [{ kind: 'text', text: value }],
    status: 'completed',
    ...different,
  },
});
const END = { type: 'turn-ended', outcome: { kind: 'completed' }, usage: null, at: 1_800_000_000_000 };

describe('a message', () => {
  it('is told as it comes', () => {
    const { run, oddities } = start();
    expect(
      run(
        started('agentMessage', 'm', 'commentary'),
        text('m', 'Hel'),
        text('m', 'lo'),
        rawMessage('m', 'Hello', { phase: 'commentary' }),
        rawDone(),
        completed(),
      ),
    ).toEqual([
      {
        type: 'item-started',
        item: { kind: 'message', id: 'm', role: 'assistant', parts: [], phase: 'commentary' },
      },
      { type: 'item-delta', itemId: 'm', at: 'text', delta: 'Hel' },
      { type: 'item-delta', itemId: 'm', at: 'text', delta: 'lo' },
      messageEnded('m', 'Hello', { phase: 'commentary' }),
      {
        ...END,
        usage: {
          inputTokens: 10,
          cachedInputTokens: 4,
          cacheWriteInputTokens: 1,
          outputTokens: 5,
          reasoningTokens: 2,
          totalTokens: 15,
        },
      },
    ]);
    expect(oddities).toEqual([]);
  });

  it('what was not streamed is added before its end', () => {
    const { run } = start();
    expect(run(started('agentMessage', 'm'), text('m', 'Hel'), rawMessage('m', 'Hello'))).toEqual([
      { type: 'item-started', item: { kind: 'message', id: 'm', role: 'assistant', parts: [] } },
      { type: 'item-delta', itemId: 'm', at: 'text', delta: 'Hel' },
      { type: 'item-delta', itemId: 'm', at: 'text', delta: 'lo' },
      messageEnded('m', 'Hello'),
    ]);
  });

  it('where the stream said something else, the stream counts: the client has read it', () => {
    const { run, oddities } = start();
    const events = run(started('agentMessage', 'm'), text('m', 'without citation'), rawMessage('m', 'with'));
    expect([events.at(-1), oddities]).toEqual([messageEnded('m', 'without citation'), ['text-differs']]);
  });

  it('that only comes whole is told whole, with an id of our own if it has none', () => {
    const { run } = start();
    expect(run(rawMessage(undefined, 'Hi'))).toEqual([
      { type: 'item-started', item: { kind: 'message', id: 'msg_minted1', role: 'assistant', parts: [] } },
      { type: 'item-delta', itemId: 'msg_minted1', at: 'text', delta: 'Hi' },
      messageEnded('msg_minted1', 'Hi'),
    ]);
  });

  it('with citations and log probabilities, and one that stopped short', () => {
    const { run } = start();
    const content = [
      { type: 'output_text', text: 'a', annotations: [{ type: 'url_citation' }], logprobs: [{ token: 'a' }] },
      { type: 'output_text', text: 'b' },
    ];
    expect(run(rawMessage('m', '', { content, status: 'incomplete' })).at(-1)).toEqual(
      messageEnded('m', 'ab', {
        parts: [
          {
            kind: 'text',
            text: 'ab',
            annotations: [{ type: 'url_citation' }],
            logprobs: [{ token: 'a' }],
          },
        ],
        status: 'incomplete',
      }),
    );
  });

  it('of the user, or of another turn, is no answer', () => {
    const { run } = start();
    expect(
      run(
        rawMessage('u', 'hi', { role: 'user' }),
        note('rawResponseItem/completed', {
          turnId: 'auto-compact-0',
          item: { type: 'message', role: 'assistant', id: 'old', content: [] },
        }),
        note('item/agentMessage/delta', { turnId: 'another', itemId: 'm', delta: 'x' }),
      ),
    ).toEqual([]);
  });

  it('a second one of the same id gets another', () => {
    const { run } = start();
    const ids = run(rawMessage('m', 'a'), rawMessage('m', 'b')).map(itemIdOf);
    expect([...new Set(ids)]).toEqual(['m', 'msg_minted1']);
  });
});

describe('reasoning', () => {
  const rawReasoning = raw({
    type: 'reasoning',
    id: 'r',
    summary: [
      { type: 'summary_text', text: 'one' },
      { type: 'summary_text', text: 'two' },
    ],
    content: [{ type: 'reasoning_text', text: 'raw' }],
    encrypted_content: 'opaque',
  });

  it('is told part by part, and completed', () => {
    const { run } = start();
    expect(
      run(
        started('reasoning', 'r'),
        note('item/reasoning/summaryPartAdded', { itemId: 'r', summaryIndex: 0 }),
        note('item/reasoning/summaryTextDelta', { itemId: 'r', summaryIndex: 0, delta: 'one' }),
        note('item/reasoning/textDelta', { itemId: 'r', contentIndex: 0, delta: 'ra' }),
        rawReasoning,
      ),
    ).toEqual([
      { type: 'item-started', item: { kind: 'reasoning', id: 'r', summary: [] } },
      { type: 'item-delta', itemId: 'r', at: { list: 'summary', index: 0 }, delta: '' },
      { type: 'item-delta', itemId: 'r', at: { list: 'summary', index: 0 }, delta: 'one' },
      { type: 'item-delta', itemId: 'r', at: { list: 'reasoning', index: 0 }, delta: 'ra' },
      { type: 'item-delta', itemId: 'r', at: { list: 'summary', index: 1 }, delta: 'two' },
      { type: 'item-delta', itemId: 'r', at: { list: 'reasoning', index: 0 }, delta: 'w' },
      {
        type: 'item-ended',
        item: {
          kind: 'reasoning',
          id: 'r',
          summary: ['one', 'two'],
          content: ['raw'],
          encryptedContent: 'opaque',
          status: 'completed',
        },
      },
    ]);
  });
});

describe('calls', () => {
  it('end the turn when the answer of the model is over', () => {
    const { one, run } = start();
    const events = run(rawCall('a', 'f', '{"x":1}'), rawCall('b', 'g', ''), rawDone(null));
    expect(events).toEqual([
      {
        type: 'item-started',
        item: { kind: 'tool-call', id: 'a', tool: 'function', callId: 'call_a', name: 'f', input: '' },
      },
      { type: 'item-delta', itemId: 'a', at: 'input', delta: '{"x":1}' },
      {
        type: 'item-ended',
        item: {
          kind: 'tool-call',
          id: 'a',
          tool: 'function',
          callId: 'call_a',
          name: 'f',
          input: '{"x":1}',
          status: 'completed',
        },
      },
      {
        type: 'item-started',
        item: { kind: 'tool-call', id: 'b', tool: 'function', callId: 'call_b', name: 'g', input: '' },
      },
      // No arguments at all are an empty object for every client.
      { type: 'item-delta', itemId: 'b', at: 'input', delta: '{}' },
      {
        type: 'item-ended',
        item: {
          kind: 'tool-call',
          id: 'b',
          tool: 'function',
          callId: 'call_b',
          name: 'g',
          input: '{}',
          status: 'completed',
        },
      },
      { type: 'turn-ended', outcome: { kind: 'tool-calls' }, usage: null, at: 1_800_000_000_000 },
    ]);
    expect([one.ended, run(completed(), text('m', 'late'))]).toEqual([true, []]);
  });

  it('are one where the client wants no more', () => {
    const { run, oddities } = start({ parallelToolCalls: false });
    const events = run(rawCall('a', 'f'), rawCall('b', 'g'), rawDone());
    expect(events.filter((event) => event.type === 'item-started')).toHaveLength(1);
    expect(oddities).toEqual(['second-call-dropped']);
  });

  it.each([
    ['a function that was not declared', rawCall('x', 'nope')],
    ['a custom tool', raw({ type: 'custom_tool_call', id: 'x', call_id: 'c', name: 'f', input: '' })],
    ['a shell', raw({ type: 'local_shell_call', id: 'x', call_id: 'c' })],
  ])('of %s are not shown, and do not end the turn', (_, call) => {
    const { run, oddities } = start();
    const output = raw({ type: 'function_call_output', id: 'o', call_id: 'c', output: 'unsupported call' });
    expect(run(call, rawDone(null), output, rawMessage('m', 'a'), rawDone(null), completed())).toEqual([
      { type: 'item-started', item: { kind: 'message', id: 'm', role: 'assistant', parts: [] } },
      { type: 'item-delta', itemId: 'm', at: 'text', delta: 'a' },
      messageEnded('m', 'a'),
      END,
    ]);
    expect(oddities).toEqual(['undeclared-call']);
  });

  it('of tools that are not there, again and again, end the turn', () => {
    const { run } = start();
    const calls = Array.from({ length: 17 }, (_, index) => rawCall(`x${index}`, 'nope'));
    expect(run(...calls)).toEqual([
      {
        type: 'turn-ended',
        outcome: {
          kind: 'failed',
          failure: failure('upstream_error', {
            message: 'The model keeps calling tools that were not declared.',
          }),
        },
        usage: null,
        at: 1_800_000_000_000,
      },
    ]);
  });
});

describe('usage', () => {
  it('is the sum over all answers of the model in the turn', () => {
    const { run } = start();
    const events = run(rawCall('x', 'nope'), rawDone(), rawMessage('m', 'a'), rawDone(), completed());
    expect(events.at(-1)).toMatchObject({ usage: { inputTokens: 20, outputTokens: 10, totalTokens: 30 } });
  });

  it('of an answer that stopped short is that of the thread', () => {
    const { run } = start();
    const total = { ...USAGE, totalTokens: 99 };
    const error = {
      message: 'Incomplete response returned, reason: max_output_tokens',
      codexErrorInfo: 'other',
    };
    const events = run(
      note('thread/tokenUsage/updated', { tokenUsage: { total, last: total } }),
      completed('failed', error),
    );
    expect(events).toMatchObject([
      {
        type: 'turn-ended',
        outcome: { kind: 'incomplete', reason: 'max_output_tokens' },
        usage: { totalTokens: 99 },
        at: 1_800_000_000_000,
      },
    ]);
  });
});

describe('other items', () => {
  it('are carried whole, without the bookkeeping of codex', () => {
    const { run } = start();
    const item = {
      type: 'web_search_call',
      id: 'ws',
      status: 'completed',
      internal_chat_message_metadata_passthrough: { turn_id: TURN },
    };
    const given = { type: 'web_search_call', id: 'ws', status: 'completed' };
    const whole = { kind: 'hosted-call', id: 'ws', raw: given };
    expect(run(raw(item))).toEqual([
      { type: 'item-started', item: whole },
      { type: 'item-ended', item: whole },
    ]);
  });

  it.each(['function_call_output', 'additional_tools', 'agent_message', 'context_compaction', 'other'])(
    '%s is none of the client’s',
    (type) => {
      expect(start().run(raw({ type }))).toEqual([]);
    },
  );
});

describe('the end', () => {
  it('closes what is open: as it should be, or broken off', () => {
    const open = [started('agentMessage', 'm'), text('m', 'half')];
    const failed = completed('failed', { message: 'cut', codexErrorInfo: 'other' });
    expect(
      start()
        .run(...open, completed())
        .at(-2),
    ).toEqual(messageEnded('m', 'half'));
    expect(
      start()
        .run(...open, failed)
        .slice(-2),
    ).toEqual([
      messageEnded('m', 'half', { status: 'incomplete' }),
      {
        type: 'turn-ended',
        outcome: { kind: 'failed', failure: failure('upstream_error') },
        usage: null,
        at: 1_800_000_000_000,
      },
    ]);
  });

  it('is told once, whoever ends the turn first', () => {
    const { one, run } = start();
    const lost = { kind: 'failed', failure: failure('worker_lost') } as const;
    expect(one.end(lost)).toEqual([
      { type: 'turn-ended', outcome: lost, usage: null, at: 1_800_000_000_000 },
    ]);
    expect([one.end({ kind: 'completed' }), run(completed())]).toEqual([[], []]);
  });

  it('a failure that codex wants to try again ends the turn: nothing is tried twice behind the client', () => {
    const { one, run } = start();
    const error = {
      message: 'Reconnecting... waiting for network',
      codexErrorInfo: { responseStreamDisconnected: { httpStatusCode: null } },
      additionalDetails: 'Connection failed: error sending request',
    };
    expect(run(note('error', { error, willRetry: true }))).toEqual([
      {
        type: 'turn-ended',
        outcome: { kind: 'failed', failure: failure('upstream_unreachable') },
        usage: null,
        at: 1_800_000_000_000,
      },
    ]);
    expect(one.ended).toBe(true);
  });
});
