import { describe, expect, it } from 'vitest';
import {
  completed,
  note,
  raw,
  rawDone,
  rawMessage,
  start,
  started,
  text,
  TURN,
} from '../../../test/support/rpc-notes.ts';
import { END, messageEnded, messageStarted, textDelta } from '../../../test/support/item-events.ts';
import { itemIdOf } from '../../canonical/events/turn-event.ts';

/** Whole turns of the real binary are in test/scenarios; these are the edge cases. */
describe('a message', () => {
  it('is emitted as it arrives', () => {
    const { run, anomalies } = start();
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
      textDelta('m', 'Hel'),
      textDelta('m', 'lo'),
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
    expect(anomalies).toEqual([]);
  });

  it('is completed with what was not streamed', () => {
    const { run } = start();
    expect(run(started('agentMessage', 'm'), text('m', 'Hel'), rawMessage('m', 'Hello'))).toEqual([
      messageStarted('m'),
      textDelta('m', 'Hel'),
      textDelta('m', 'lo'),
      messageEnded('m', 'Hello'),
    ]);
  });

  it('keeps the streamed text if the complete item differs: the client has read it', () => {
    const { run, anomalies } = start();
    const events = run(started('agentMessage', 'm'), text('m', 'without citation'), rawMessage('m', 'with'));
    expect([events.at(-1), anomalies]).toEqual([messageEnded('m', 'without citation'), ['text-differs']]);
  });

  it('without deltas is emitted whole, with a new id if it has none', () => {
    const { run } = start();
    expect(run(rawMessage(undefined, 'Hi'))).toEqual([
      messageStarted('msg_minted1'),
      textDelta('msg_minted1', 'Hi'),
      messageEnded('msg_minted1', 'Hi'),
    ]);
  });

  it('may have citations, log probabilities, or be incomplete', () => {
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

  it('of the user or of another turn is ignored', () => {
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

  it('with a repeated id gets another one', () => {
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

  it('is emitted part by part, and completed', () => {
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
describe('other items', () => {
  it("are passed on whole, without codex's bookkeeping", () => {
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
    '%s is hidden from the client',
    (type) => {
      expect(start().run(raw({ type }))).toEqual([]);
    },
  );
});
