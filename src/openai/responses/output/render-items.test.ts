import { describe, expect, it } from 'vitest';

import { rendered } from '../../../../test/support/rendered.ts';
import { END, messageStarted, textDelta, callTold } from '../../../../test/support/item-events.ts';
import { messageParts } from '../../../canonical/request/item.ts';
import type { TurnEvent } from '../../../canonical/events/turn-event.ts';

/** The exact frames of each item kind. Properties for any turn are in test/laws. */

/** The frames between `in_progress` and the last response, without sequence numbers. */
const framesOf = async (...events: readonly TurnEvent[]): Promise<unknown[]> =>
  (await rendered([...events, END])).slice(2, -2).map(({ event, data }) => {
    const { sequence_number: _number, ...rest } = data as Record<string, unknown>;
    expect(rest['type']).toBe(event);
    return rest;
  });

describe('items', () => {
  const place = { item_id: 'm', output_index: 0, content_index: 0 };
  const part = (text: string) => ({ type: 'output_text', annotations: [], logprobs: [], text });
  const messageEnded = (text: string, refusal: string | null = null): TurnEvent => ({
    type: 'item-ended',
    item: {
      kind: 'message',
      id: 'm',
      role: 'assistant',
      parts: messageParts({ text, refusal, annotations: [], logprobs: [] }),
      phase: 'commentary',
      status: 'completed',
    },
  });
  const added = {
    type: 'response.output_item.added',
    output_index: 0,
    item: {
      id: 'm',
      type: 'message',
      status: 'in_progress',
      role: 'assistant',
      content: [],
      phase: 'commentary',
    },
  };
  const done = (...content: readonly unknown[]) => ({
    type: 'response.output_item.done',
    output_index: 0,
    item: { id: 'm', type: 'message', status: 'completed', role: 'assistant', content, phase: 'commentary' },
  });
  const STARTED = messageStarted('m', { phase: 'commentary' });

  it('a message', async () => {
    expect(
      await framesOf(STARTED, textDelta('m', 'Hel'), textDelta('m', 'lo'), messageEnded('Hello')),
    ).toEqual([
      added,
      { type: 'response.content_part.added', ...place, part: part('') },
      { type: 'response.output_text.delta', ...place, delta: 'Hel', logprobs: [] },
      { type: 'response.output_text.delta', ...place, delta: 'lo', logprobs: [] },
      { type: 'response.output_text.done', ...place, text: 'Hello', logprobs: [] },
      { type: 'response.content_part.done', ...place, part: part('Hello') },
      done(part('Hello')),
    ]);
  });

  it('an empty message still has a part', async () => {
    expect(await framesOf(STARTED, messageEnded(''))).toEqual([
      added,
      { type: 'response.content_part.added', ...place, part: part('') },
      { type: 'response.output_text.done', ...place, text: '', logprobs: [] },
      { type: 'response.content_part.done', ...place, part: part('') },
      done(part('')),
    ]);
  });

  it('a refusal', async () => {
    const refusal = { type: 'refusal', refusal: 'No.' };
    expect(
      await framesOf(
        STARTED,
        { type: 'item-delta', itemId: 'm', at: 'refusal', delta: 'No.' },
        messageEnded('', 'No.'),
      ),
    ).toEqual([
      added,
      { type: 'response.content_part.added', ...place, part: { type: 'refusal', refusal: '' } },
      { type: 'response.refusal.delta', ...place, delta: 'No.' },
      { type: 'response.refusal.done', ...place, refusal: 'No.' },
      { type: 'response.content_part.done', ...place, part: refusal },
      done(refusal),
    ]);
  });

  it('a call', async () => {
    const call = { id: 'c', type: 'function_call', call_id: 'call_c', name: 'f' };
    expect(await framesOf(...callTold('c', '{}'))).toEqual([
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { ...call, status: 'in_progress', arguments: '' },
      },
      { type: 'response.function_call_arguments.delta', item_id: 'c', output_index: 0, delta: '{}' },
      {
        type: 'response.function_call_arguments.done',
        item_id: 'c',
        output_index: 0,
        name: 'f',
        arguments: '{}',
      },
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: { ...call, status: 'completed', arguments: '{}' },
      },
    ]);
  });

  it('reasoning: each summary part is closed before the next starts', async () => {
    const at = (summary_index: number) => ({ item_id: 'r', output_index: 0, summary_index });
    const summary = (text: string) => ({ type: 'summary_text', text });
    expect(
      await framesOf(
        { type: 'item-started', item: { kind: 'reasoning', id: 'r', summary: [] } },
        { type: 'item-delta', itemId: 'r', at: { list: 'summary', index: 0 }, delta: '' },
        { type: 'item-delta', itemId: 'r', at: { list: 'summary', index: 0 }, delta: 'a' },
        { type: 'item-delta', itemId: 'r', at: { list: 'summary', index: 1 }, delta: 'b' },
        { type: 'item-delta', itemId: 'r', at: { list: 'reasoning', index: 0 }, delta: 'raw' },
        {
          type: 'item-ended',
          item: {
            kind: 'reasoning',
            id: 'r',
            summary: ['a', 'b'],
            content: ['raw'],
            encryptedContent: 'e',
            status: 'completed',
          },
        },
      ),
    ).toEqual([
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { id: 'r', type: 'reasoning', summary: [] },
      },
      { type: 'response.reasoning_summary_part.added', ...at(0), part: summary('') },
      { type: 'response.reasoning_summary_text.delta', ...at(0), delta: 'a' },
      { type: 'response.reasoning_summary_text.done', ...at(0), text: 'a' },
      { type: 'response.reasoning_summary_part.done', ...at(0), part: summary('a') },
      { type: 'response.reasoning_summary_part.added', ...at(1), part: summary('') },
      { type: 'response.reasoning_summary_text.delta', ...at(1), delta: 'b' },
      {
        type: 'response.content_part.added',
        item_id: 'r',
        output_index: 0,
        content_index: 0,
        part: { type: 'reasoning_text', text: '' },
      },
      {
        type: 'response.reasoning_text.delta',
        item_id: 'r',
        output_index: 0,
        content_index: 0,
        delta: 'raw',
      },
      { type: 'response.reasoning_summary_text.done', ...at(1), text: 'b' },
      { type: 'response.reasoning_summary_part.done', ...at(1), part: summary('b') },
      {
        type: 'response.reasoning_text.done',
        item_id: 'r',
        output_index: 0,
        content_index: 0,
        text: 'raw',
      },
      {
        type: 'response.content_part.done',
        item_id: 'r',
        output_index: 0,
        content_index: 0,
        part: { type: 'reasoning_text', text: 'raw' },
      },
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: {
          id: 'r',
          type: 'reasoning',
          summary: [summary('a'), summary('b')],
          content: [{ type: 'reasoning_text', text: 'raw' }],
          encrypted_content: 'e',
        },
      },
    ]);
  });

  it('two overlapping items keep their indexes', async () => {
    const all = (await framesOf(
      STARTED,
      { type: 'item-started', item: { kind: 'reasoning', id: 'r', summary: [] } },
      { type: 'item-ended', item: { kind: 'reasoning', id: 'r', summary: [], status: 'completed' } },
      textDelta('m', 'a'),
      messageEnded('a'),
    )) as { type: string; output_index: number }[];
    expect(all.map((event) => [event.type.replace('response.', ''), event.output_index])).toEqual([
      ['output_item.added', 0],
      ['output_item.added', 1],
      ['output_item.done', 1],
      ['content_part.added', 0],
      ['output_text.delta', 0],
      ['output_text.done', 0],
      ['content_part.done', 0],
      ['output_item.done', 0],
    ]);
  });

  it('an item without deltas is added and done', async () => {
    const echo = { type: 'web_search_call', status: 'completed' };
    const item = { kind: 'hosted-call', id: 'w', raw: echo } as const;
    expect(await framesOf({ type: 'item-started', item }, { type: 'item-ended', item })).toEqual([
      { type: 'response.output_item.added', output_index: 0, item: { ...echo, id: 'w' } },
      { type: 'response.output_item.done', output_index: 0, item: { ...echo, id: 'w' } },
    ]);
  });
});
