import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { emit, turnEvents } from '../../test/support/turn-events.ts';
import { fold, ReplyBuilder } from './reply.ts';
import type { TurnEvent } from './turn-event.ts';

const USAGE = {
  inputTokens: 1,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 2,
  reasoningTokens: 0,
  totalTokens: 3,
};
const END: TurnEvent = { type: 'turn-ended', outcome: { kind: 'tool-calls' }, usage: USAGE };
const ended = (itemId: string, text: string): TurnEvent => ({
  type: 'message-ended',
  itemId,
  text,
  refusal: null,
  phase: 'final_answer',
  annotations: [{ type: 'url_citation' }],
  logprobs: [],
  complete: true,
});

describe('fold', () => {
  it('makes one item of what was told about it, in the order in which items began', async () => {
    const events: readonly TurnEvent[] = [
      { type: 'turn-accepted', ignored: ['sampling.seed'], limitsOutput: false, headers: {} },
      { type: 'message-started', itemId: 'm', phase: null },
      { type: 'reasoning-started', itemId: 'r' },
      { type: 'text-delta', itemId: 'm', delta: 'a' },
      { type: 'call-started', itemId: 'c', callId: 'call_1', name: 'f' },
      {
        type: 'call-ended',
        itemId: 'c',
        callId: 'call_1',
        name: 'f',
        arguments: '{}',
        complete: false,
      },
      {
        type: 'reasoning-ended',
        itemId: 'r',
        summary: ['s'],
        content: [],
        encryptedContent: 'e',
        complete: true,
      },
      { type: 'carried-item', itemId: 'w', wire: { type: 'web_search_call' } },
      ended('m', 'a'),
      END,
    ];
    expect(await fold(emit(events))).toEqual({
      items: [
        {
          kind: 'message',
          id: 'm',
          text: 'a',
          refusal: null,
          phase: 'final_answer',
          annotations: [{ type: 'url_citation' }],
          logprobs: [],
          complete: true,
        },
        {
          kind: 'reasoning',
          id: 'r',
          summary: ['s'],
          content: [],
          encryptedContent: 'e',
          complete: true,
        },
        { kind: 'call', id: 'c', callId: 'call_1', name: 'f', arguments: '{}', complete: false },
        { kind: 'carried', id: 'w', wire: { type: 'web_search_call' } },
      ],
      outcome: { kind: 'tool-calls' },
      usage: USAGE,
    });
  });

  it('takes every turn that keeps the grammar, and has its texts whole', async () => {
    await fc.assert(
      fc.asyncProperty(turnEvents, async (events) => {
        const reply = await fold(emit(events));
        const texts = events.flatMap((event) => (event.type === 'message-ended' ? [event.text] : []));
        const folded = reply.items.flatMap((item) => (item.kind === 'message' ? [item.text] : []));
        expect(folded.toSorted()).toEqual(texts.toSorted());
        expect(events.at(-1)).toEqual({ type: 'turn-ended', outcome: reply.outcome, usage: reply.usage });
      }),
    );
  });

  it.each([
    ['a turn that did not end', [ended('m', '')], 'the turn has not ended'],
    [
      'an item that did not end',
      [{ type: 'message-started', itemId: 'm', phase: null } as const, END],
      'item m was started and never ended',
    ],
  ])('refuses %s', async (_, events, message) => {
    await expect(fold(emit(events))).rejects.toThrow(message);
  });
});

describe('ReplyBuilder.indexOf', () => {
  it('is the place of an item from its first event on', () => {
    const builder = new ReplyBuilder();
    builder.add({ type: 'message-started', itemId: 'm', phase: null });
    builder.add({ type: 'reasoning-started', itemId: 'r' });
    builder.add(ended('m', ''));
    expect(['m', 'r', 'x'].map((id) => builder.indexOf(id))).toEqual([0, 1, -1]);
  });
});
